import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isAgentRlError, SandboxError } from '@agentrl/spec'
import { terminateProcessGroup } from './process-group.ts'
import { commandScript } from './quote-shell.ts'
import type { Sandbox } from './sandbox.ts'
import { sandboxProcessGroup } from './sandbox-process-group.ts'
import type { Command, ExecOptions, ExecOutput } from './sandbox-types.ts'
import type { CommandLimits } from './supervise-command.ts'

/**
 * A command that outlives the calls that look at it. It runs in a session of
 * its own inside the sandbox and writes to files of one folder:
 *
 *     command.sh       what to run
 *     lock/            made by whoever launches first: a replayed launch does nothing
 *     group            process id of the session's leader, which is its group
 *     stdout, stderr   what it wrote
 *     status           its exit code; appears whole, by rename, when it is over
 *
 * Launching, looking and reading may each be repeated freely, so a gateway that
 * cuts a stream, or a call whose answer is lost, changes nothing.
 */
export interface DetachedRun {
  launch(command: Command, stdin?: string | Uint8Array): Promise<void>
  /** Looks until the command is over, ends it at `endsAt` (of `performance.now()`), on overflow and on abort. */
  waitForEnd(endsAt: number): Promise<DetachedEnd>
  readOutput(keep: 'head' | 'tail'): Promise<Omit<ExecOutput, 'durationMs'>>
  /** Removes the folder; a sandbox that is gone is no error. */
  cleanUp(): Promise<void>
}

export interface DetachedRunOptions extends Pick<ExecOptions, 'user' | 'env' | 'cwd'> {
  /** The longest pause between two looks; the first come sooner. Default 2,000. */
  readonly pollMs?: number
  /** While the command runs, the sandbox's end keeps moving to this long from now. Default: it is left alone. */
  readonly keepAliveMs?: number
  /** How many calls in a row may fail in a way that a retry can mend. Default 10. */
  readonly maxFailedCalls?: number
}

export type DetachedEnd =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'timed_out' | 'overflow' | 'cancelled' }

type Look =
  | { readonly kind: 'starting' | 'gone' | 'absent' }
  | { readonly kind: 'running'; readonly groupId: number }
  | { readonly kind: 'done'; readonly exitCode: number }

/** A file of output beyond this ends the command, whatever `overflow` says: it fills the sandbox's disk. */
const maxFileBytes = 2 ** 30
/** A launched command that has not said its group after this long never will. */
const maxStartMs = 15_000

const launchScript = `cd "$4" || exit 71
mkdir -p -m 700 "$1" && cd "$1" || exit 70
cat > "command.$2" || exit 70
if ! mkdir lock 2>/dev/null; then rm -f "command.$2"; exit 0; fi
mv "command.$2" command.sh
folder=$1; input=$3; cd "$4"
setsid /bin/sh -c 'echo $$ > "$1/group"; /bin/sh "$1/command.sh"; echo $? > "$1/status.new"; mv "$1/status.new" "$1/status"' \\
  sh "$folder" < "$input" > "$folder/stdout" 2> "$folder/stderr" &`

const lookScript = `cd "$1" 2>/dev/null || { echo absent 0 0 0; exit 0; }
read -r group 2>/dev/null < group || group=
if [ -f status ]; then read -r code < status; state="done $code"
elif [ -z "$group" ]; then state="starting 0"
elif kill -0 "-$group" 2>/dev/null; then state="running $group"
elif [ -f status ]; then read -r code < status; state="done $code"
else state="gone 0"; fi
size() { [ -f "$1" ] && wc -c < "$1" || echo 0; }
echo "$state" $(size stdout) $(size stderr)`

/** A command of ours, short and free to repeat. */
type ShortCall = (script: string, args: readonly string[], rest?: ExecOptions) => Promise<string>

export function createDetachedRun(
  sandbox: Sandbox,
  folder: string,
  options: DetachedRunOptions & CommandLimits,
): DetachedRun {
  const { pollMs = 2_000, maxFailedCalls = 10, keepAliveMs, maxOutputBytes, overflow, graceMs, signal } = options
  const asUser: ExecOptions = options.user === undefined ? {} : { user: options.user }
  const place = sandbox.path(folder)
  let sizes = { stdout: 0, stderr: 0 }
  let groupId: number | undefined

  const call: ShortCall = async (script, args, rest = {}) => {
    const outcome = await withRetries(maxFailedCalls, () =>
      sandbox.exec(['/bin/sh', '-c', script, 'sh', ...args], {
        ...asUser,
        timeoutMs: 60_000,
        check: true,
        quiet: true,
        ...rest,
      }),
    )
    return outcome.stdout
  }

  async function look(): Promise<Look> {
    const [kind = '', value = '', stdout = '', stderr = ''] = (await call(lookScript, [place])).trim().split(/\s+/)
    sizes = { stdout: Number(stdout), stderr: Number(stderr) }
    if (kind === 'running') groupId ??= readGroupId(value)
    if (kind === 'running' && groupId !== undefined) return { kind, groupId }
    if (kind === 'done') return { kind, exitCode: Number(value) }
    return { kind: kind === 'gone' || kind === 'absent' ? kind : 'starting' }
  }

  function isOverflow(): boolean {
    const largest = Math.max(sizes.stdout, sizes.stderr)
    return largest > maxFileBytes || (overflow === 'end' && largest > maxOutputBytes)
  }

  async function terminate(): Promise<void> {
    if (groupId === undefined) return
    await terminateProcessGroup(sandboxProcessGroup(sandbox, groupId, asUser), { graceMs })
  }

  async function keepAlive(): Promise<void> {
    if (keepAliveMs !== undefined) await withRetries(maxFailedCalls, () => sandbox.extendLifetime(keepAliveMs))
  }

  /** Why the command has to be ended now, if it has. */
  function reasonToEnd(endsAt: number): 'cancelled' | 'overflow' | 'timed_out' | undefined {
    if (signal.aborted) return 'cancelled'
    if (isOverflow()) return 'overflow'
    return performance.now() >= endsAt ? 'timed_out' : undefined
  }

  return {
    async launch(command, stdin) {
      const inputPath = `${folder}/input-${randomBytes(4).toString('hex')}`
      if (stdin !== undefined) await withRetries(maxFailedCalls, () => sandbox.writeFile(inputPath, stdin, asUser))
      const args = [place, randomBytes(4).toString('hex'), stdin === undefined ? '/dev/null' : sandbox.path(inputPath)]
      await call(launchScript, [...args, sandbox.path(options.cwd ?? sandbox.workdir)], {
        stdin: commandScript(command),
        ...(options.env === undefined ? {} : { env: options.env }),
      })
    },

    async waitForEnd(endsAt) {
      const launchedAt = performance.now()
      let waitMs = 20
      let aliveUntil = 0
      for (;;) {
        const seen = await look()
        if (seen.kind === 'done')
          return isOverflow() ? { kind: 'overflow' } : { kind: 'exited', exitCode: seen.exitCode }
        if (seen.kind === 'gone') return { kind: 'exited', exitCode: 137 }
        const isStuck = seen.kind === 'starting' && performance.now() - launchedAt > maxStartMs
        if (seen.kind === 'absent' || isStuck) {
          await terminate()
          const what = isStuck ? 'did not start' : 'can not be followed: its files were removed'
          throw new SandboxError('sandbox_exec_failed', `The detached command of sandbox ${sandbox.id} ${what}`)
        }
        const reason = seen.kind === 'running' ? reasonToEnd(endsAt) : undefined
        if (reason !== undefined) {
          await terminate()
          return { kind: reason }
        }
        if (performance.now() >= aliveUntil) {
          await keepAlive()
          aliveUntil = performance.now() + (keepAliveMs ?? Number.POSITIVE_INFINITY) / 3
        }
        const pauseMs = Math.max(1, Math.min(waitMs, endsAt - performance.now()))
        await delay(pauseMs, undefined, signal.aborted ? {} : { signal }).catch(() => {})
        waitMs = Math.min(waitMs * 1.5, pollMs)
      }
    },

    async readOutput(keep) {
      await look()
      const read = async (name: 'stdout' | 'stderr'): Promise<Uint8Array> => {
        const script = keep === 'head' ? 'exec head -c "$2" "$1"' : 'exec tail -c "$2" "$1"'
        const outcome = await withRetries(maxFailedCalls, () =>
          sandbox.exec(
            ['/bin/sh', '-c', `[ -f "$1" ] || exit 0; ${script}`, 'sh', `${place}/${name}`, `${maxOutputBytes}`],
            {
              ...asUser,
              timeoutMs: 600_000,
              maxOutputBytes,
              check: true,
              quiet: true,
            },
          ),
        )
        return outcome.raw.stdout
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
      await sandbox.exec(['rm', '-rf', '--', place], { ...asUser, timeoutMs: 60_000, quiet: true }).catch(() => {})
    },
  }
}

/** The group that a file in the sandbox names; never one of the numbers that mean "everything" to kill. */
function readGroupId(text: string): number | undefined {
  const groupId = Number(text)
  return Number.isInteger(groupId) && groupId > 1 ? groupId : undefined
}

/** Makes a call again while its error says that a retry may help, at most `maxFailures` times, with growing pauses. */
async function withRetries<T>(maxFailures: number, call: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await call()
    } catch (error) {
      if (!isAgentRlError(error) || !error.isRetryable || failures >= maxFailures) throw error
      await delay(Math.min(50 * 2 ** failures, 5_000) * (0.5 + Math.random() / 2))
    }
  }
}
