import { randomBytes } from 'node:crypto'
import { excerpt, SandboxError } from '@agentrl/spec'
import { createDetachedRun, type DetachedEnd, type DetachedRunOptions } from './detached-run.ts'
import { execEvent, failedCommand, showCommand } from './exec-report.ts'
import { prepareLimits } from './prepare-command.ts'
import { createRedactor } from './redact.ts'
import type { Sandbox } from './sandbox.ts'
import type { Command, ExecOptions, ExecOutcome, ExecOutput } from './sandbox-types.ts'

export interface ExecAndWaitOptions extends Omit<ExecOptions, 'quiet'>, DetachedRunOptions {
  /** Names the run. The same tag never runs twice in one sandbox. Default: a random one. */
  readonly tag?: string
}

/**
 * Runs a command that may take hours over connections that don't last: it runs
 * detached in the sandbox and is looked at with short calls (`detached-run.ts`
 * says how). Like `Sandbox.exec`, except that `overflow` defaults to
 * `keep-tail`, and that what the first process leaves behind in its group is
 * left alone until the sandbox ends. Rejects as `exec` does, and with the error
 * of the sandbox when it fails `maxFailedCalls` times in a row.
 */
export async function execAndWait(
  sandbox: Sandbox,
  command: Command,
  options: ExecAndWaitOptions = {},
): Promise<ExecOutcome> {
  const { tag = randomBytes(6).toString('hex'), signal = new AbortController().signal, ...execOptions } = options
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(tag)) {
    throw new SandboxError(
      'sandbox_invalid_option',
      `tag is 1 to 64 characters of A-Z a-z 0-9 _ -; found "${excerpt(tag)}"`,
    )
  }
  const limits = prepareLimits({ overflow: 'keep-tail', ...execOptions }, signal)
  const startedAt = performance.now()
  const run = createDetachedRun(sandbox, `/tmp/.agentrl-${tag}`, { ...options, ...limits })
  const redact = createRedactor(options.env ?? {})
  const shown = redact(showCommand(command))
  let outcome: ExecOutcome
  try {
    await run.launch(command, options.stdin)
    const end = await run.waitForEnd(startedAt + limits.timeoutMs)
    const output = await run.readOutput(end.kind === 'overflow' ? 'head' : 'tail')
    outcome = outcomeOf(end, { ...output, durationMs: Math.round(performance.now() - startedAt) }, limits)
  } catch (error) {
    const durationMs = Math.round(performance.now() - startedAt)
    await sandbox.record({ kind: 'exec-failed', command: shown, durationMs, error: redact(String(error)) })
    throw error
  } finally {
    await run.cleanUp()
  }
  await sandbox.record(execEvent(shown, { cwd: options.cwd ?? sandbox.workdir, ...options }, outcome, redact))
  if (options.check === true && !(outcome.kind === 'exited' && outcome.exitCode === 0)) {
    throw failedCommand(shown, outcome, redact)
  }
  return outcome
}

function outcomeOf(
  end: DetachedEnd,
  output: ExecOutput,
  limits: { timeoutMs: number; maxOutputBytes: number; signal: AbortSignal },
): ExecOutcome {
  if (end.kind === 'exited') return { ...output, kind: 'exited', exitCode: end.exitCode }
  if (end.kind === 'timed_out') return { ...output, kind: 'timed_out', timeoutMs: limits.timeoutMs }
  if (end.kind === 'overflow') return { ...output, kind: 'overflow', maxOutputBytes: limits.maxOutputBytes }
  return { ...output, kind: 'cancelled', reason: limits.signal.reason }
}
