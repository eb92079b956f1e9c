import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import {
  createDetachedCommand,
  type DetachedCommand,
  type DetachedTransport,
  forgetScript,
  type Look,
} from './detached-command.ts'
import { commandText, execEvent, failedCommand, redactTexts } from './exec-report.ts'
import { prepareLimits } from './prepare-command.ts'
import { terminateProcessGroup } from './process-group.ts'
import { commandScript } from './quote-shell.ts'
import { createRedactor } from './redact.ts'
import { retryCalls } from './retry-calls.ts'
import type { Sandbox } from './sandbox.ts'
import { sandboxProcessGroup } from './sandbox-process-group.ts'
import type { Command, ExecOptions, ExecOutcome, ExecOutput } from './sandbox-types.ts'
import type { CommandLimits } from './supervise-command.ts'
import type { TraceEvent } from './trace.ts'

export interface ExecAndWaitOptions extends Omit<ExecOptions, 'quiet' | 'onOutput'> {
  /** Names the run. The same tag never runs twice in one sandbox. Default: a random one. */
  readonly tag?: string
  /** The longest pause between two looks; the first come sooner. Default 2,000. */
  readonly pollMs?: number
  /** While the command runs, the sandbox's end keeps moving to this long from now. Default: it is left alone. */
  readonly keepAliveMs?: number
  /** How many calls in a row may fail in a way that a retry can mend. Default 10. */
  readonly maxFailedCalls?: number
}

type End =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'timed_out' | 'overflow' | 'cancelled' }

/** A file of output beyond this ends the command, whatever `overflow` says: it fills the sandbox's disk. */
export const maxOutputFileBytes: number = 2 ** 30
/** A launched command that has not said its group after this long never will. */
const maxStartMs = 15_000

/**
 * Runs a command that may take hours over connections that don't last: it runs
 * detached in the sandbox and is looked at with short calls (`detached-command.ts`
 * says how). Like `Sandbox.exec`, except that `overflow` defaults to
 * `keep-tail`, that output is read when the command is over, and that what the
 * first process leaves behind in its group is left alone until the sandbox
 * ends. Rejects as `exec` does, and with the error of the sandbox when its
 * calls fail `maxFailedCalls` times in a row.
 */
export async function execAndWait(
  sandbox: Sandbox,
  command: Command,
  options: ExecAndWaitOptions = {},
): Promise<ExecOutcome> {
  const { tag = randomBytes(6).toString('hex'), signal = new AbortController().signal } = options
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(tag)) {
    throw new SandboxError(
      'sandbox_invalid_option',
      `tag is 1 to 64 characters of A-Z a-z 0-9 _ -; found "${excerpt(tag)}"`,
    )
  }
  const limits = prepareLimits({ overflow: 'keep-tail', ...options }, signal)
  const startedAt = performance.now()
  const run = createRun(sandbox, `/tmp/.agentrl-${tag}`, options, limits)
  const redact = createRedactor(options.env ?? {})
  let outcome: ExecOutcome
  try {
    const end = await run.follow(await run.launch(command), startedAt + limits.timeoutMs)
    const output = await run.readOutput(end.kind === 'overflow' ? 'head' : 'tail')
    outcome = describeEnd(end, { ...output, durationMs: Math.round(performance.now() - startedAt) }, limits)
  } catch (error) {
    const durationMs = Math.round(performance.now() - startedAt)
    const failed: TraceEvent = { kind: 'exec-failed', command: commandText(command), durationMs, error: String(error) }
    await sandbox.record(redactTexts(failed, redact))
    throw error
  } finally {
    await run.cleanUp()
  }
  const ended = execEvent(command, { cwd: options.cwd ?? sandbox.workdir, ...options }, outcome)
  await sandbox.record(redactTexts(ended, redact))
  if (options.check === true && !(outcome.kind === 'exited' && outcome.exitCode === 0)) {
    throw failedCommand(command, outcome, redact)
  }
  return outcome
}

function describeEnd(end: End, output: ExecOutput, { timeoutMs, maxOutputBytes, signal }: CommandLimits): ExecOutcome {
  if (end.kind === 'exited') return { ...output, kind: 'exited', exitCode: end.exitCode }
  if (end.kind === 'timed_out') return { ...output, kind: 'timed_out', timeoutMs }
  if (end.kind === 'overflow') return { ...output, kind: 'overflow', maxOutputBytes }
  return { ...output, kind: 'cancelled', reason: signal.reason }
}

interface Run {
  launch(command: Command): Promise<Look>
  /** Looks until the command is over; ends it at `endsAt` (of `performance.now()`), on overflow and on abort. */
  follow(first: Look, endsAt: number): Promise<End>
  readOutput(keep: 'head' | 'tail'): Promise<Omit<ExecOutput, 'durationMs'>>
  /** Removes its files, but for the mark that it ran; a sandbox that is gone is no error. */
  cleanUp(): Promise<void>
}

function createRun(sandbox: Sandbox, folder: string, options: ExecAndWaitOptions, limits: CommandLimits): Run {
  const { pollMs = 2_000, maxFailedCalls = 10, keepAliveMs } = options
  const { maxOutputBytes, overflow, graceMs, signal } = limits
  const asUser: ExecOptions = options.user === undefined ? {} : { user: options.user }
  const quietly: ExecOptions = { ...asUser, timeoutMs: 60_000, check: true, quiet: true }
  const place = sandbox.path(folder)
  let groupId: number | undefined

  const transport: DetachedTransport = {
    async run(script, args) {
      const argv = ['/bin/sh', '-c', script, 'sh', ...args] as const
      return (await retryCalls(maxFailedCalls, () => sandbox.exec(argv, quietly))).stdout
    },
    async writeFile(name, content) {
      await retryCalls(maxFailedCalls, () => sandbox.writeFile(`${folder}/${name}`, content, asUser))
      return `${place}/${name}`
    },
  }
  const detached: DetachedCommand = createDetachedCommand(place, transport)

  function isOverflow({ sizes }: Look): boolean {
    const largest = Math.max(sizes.stdout, sizes.stderr)
    return largest > maxOutputFileBytes || (overflow === 'end' && largest > maxOutputBytes)
  }

  async function terminate(): Promise<void> {
    if (groupId === undefined) return
    await terminateProcessGroup(sandboxProcessGroup(sandbox, groupId, { ...asUser, maxFailedCalls }), { graceMs })
  }

  /** Why a running command has to be ended now, if it has. */
  function reasonToEnd(seen: Look, endsAt: number): 'cancelled' | 'overflow' | 'timed_out' | undefined {
    if (signal.aborted) return 'cancelled'
    if (isOverflow(seen)) return 'overflow'
    return performance.now() >= endsAt ? 'timed_out' : undefined
  }

  /** What a look decides: an end, or undefined to look again. */
  async function decide(seen: Look, launchedAt: number, endsAt: number): Promise<End | undefined> {
    if (seen.kind === 'done')
      return isOverflow(seen) ? { kind: 'overflow' } : { kind: 'exited', exitCode: seen.exitCode }
    if (seen.kind === 'gone') return { kind: 'exited', exitCode: 137 }
    if (seen.kind === 'refused') {
      throw new SandboxError('sandbox_invalid_option', `cwd is a folder of the sandbox; found ${options.cwd}`)
    }
    const isStuck = seen.kind === 'starting' && performance.now() - launchedAt > maxStartMs
    if (seen.kind === 'absent' || isStuck) {
      await terminate()
      const what = isStuck ? 'did not start' : 'can not be followed: its files were removed'
      throw new SandboxError('sandbox_exec_failed', `The detached command of sandbox ${sandbox.id} ${what}`)
    }
    if (seen.kind !== 'running') return undefined
    groupId ??= seen.groupId
    const reason = reasonToEnd(seen, endsAt)
    if (reason === undefined) return undefined
    await terminate()
    return { kind: reason }
  }

  return {
    async launch(command) {
      const { stdin } = options
      const inputPath = stdin === undefined ? undefined : `${folder}-input`
      if (stdin !== undefined) {
        await retryCalls(maxFailedCalls, () => sandbox.writeFile(`${folder}-input`, stdin, asUser))
      }
      return detached.launch({
        script: commandScript(command, options.env),
        cwd: sandbox.path(options.cwd ?? sandbox.workdir),
        ...(inputPath === undefined ? {} : { inputPath: sandbox.path(inputPath) }),
      })
    },

    async follow(first, endsAt) {
      const launchedAt = performance.now()
      let waitMs = 20
      let aliveUntil = 0
      let seen = first
      for (;;) {
        const end = await decide(seen, launchedAt, endsAt)
        if (end !== undefined) return end
        if (keepAliveMs !== undefined && performance.now() >= aliveUntil) {
          await retryCalls(maxFailedCalls, () => sandbox.extendLifetime(keepAliveMs))
          aliveUntil = performance.now() + keepAliveMs / 3
        }
        const pauseMs = Math.max(1, Math.min(waitMs, endsAt - performance.now()))
        await delay(pauseMs, undefined, signal.aborted ? {} : { signal }).catch(() => {})
        waitMs = Math.min(waitMs * 1.5, pollMs)
        seen = await detached.look()
      }
    },

    async readOutput(keep) {
      const { sizes } = await detached.look()
      const script = keep === 'head' ? 'exec head -c "$2" "$1"' : 'exec tail -c "$2" "$1"'
      const read = async (name: 'stdout' | 'stderr'): Promise<Uint8Array> => {
        const argv = [
          '/bin/sh',
          '-c',
          `[ -f "$1" ] || exit 0; ${script}`,
          'sh',
          `${place}/${name}`,
          `${maxOutputBytes}`,
        ] as const
        const readOptions: ExecOptions = { ...quietly, timeoutMs: 600_000, maxOutputBytes }
        return (await retryCalls(maxFailedCalls, () => sandbox.exec(argv, readOptions))).raw.stdout
      }
      const raw = { stdout: await read('stdout'), stderr: await read('stderr') }
      const decoder = new TextDecoder()
      return {
        raw,
        stdout: decoder.decode(raw.stdout),
        stderr: decoder.decode(raw.stderr),
        omittedBytes: {
          stdout: Math.max(0, sizes.stdout - raw.stdout.length),
          stderr: Math.max(0, sizes.stderr - raw.stderr.length),
        },
      }
    },

    async cleanUp() {
      const argv = ['/bin/sh', '-c', forgetScript, 'sh', place] as const
      await sandbox.exec(argv, { ...asUser, timeoutMs: 60_000, quiet: true }).catch(() => {})
    },
  }
}
