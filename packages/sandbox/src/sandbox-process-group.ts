import type { ProcessGroup } from './process-group.ts'
import { retryCalls } from './retry-calls.ts'
import type { Sandbox } from './sandbox.ts'
import type { ExecOptions } from './sandbox-types.ts'

/** Prints one line for each member of group $1 that is not a zombie; needs nothing but a shell and /proc. */
const listScript = `for file in /proc/[0-9]*/stat; do
  { read -r line < "$file"; } 2>/dev/null || continue
  set -- "$1" \${line##*) }
  [ "$4" = "$1" ] && [ "$2" != Z ] && [ "$2" != X ] && echo "process \${line%%)*})"
done; exit 0`

/** A dash and a busybox take no `--` after the signal, and no negative number may look like an option to a bash. */
const killScript = 'kill "-$2" "-$1" 2>/dev/null; exit 0'

export interface CommandProcessGroup {
  /** For messages. */
  readonly name: string
  readonly groupId: number
  /** Runs a short command where the group is and gives its output; rejects when it can't. */
  readonly run: (argv: readonly [string, ...string[]]) => Promise<string>
}

/** A process group that is reached through commands: in a container, over a remote call. */
export function commandProcessGroup({ name, groupId, run }: CommandProcessGroup): ProcessGroup {
  return {
    name,
    async signal(signal) {
      await run(['/bin/sh', '-c', killScript, 'sh', `${groupId}`, signal.slice('SIG'.length)])
    },
    async survivors() {
      const output = await run(['/bin/sh', '-c', listScript, 'sh', `${groupId}`])
      return output.split('\n').filter((line) => line !== '')
    },
  }
}

export interface SandboxProcessGroupOptions extends Pick<ExecOptions, 'user'> {
  /** How many calls in a row may fail in a way that a retry can mend. */
  readonly maxFailedCalls: number
}

/** A process group inside a sandbox, for whoever started it there. Its calls may be repeated, and are. */
export function sandboxProcessGroup(
  sandbox: Sandbox,
  groupId: number,
  { maxFailedCalls, ...asUser }: SandboxProcessGroupOptions,
): ProcessGroup {
  const options: ExecOptions = { ...asUser, timeoutMs: 30_000, quiet: true, check: true }
  return commandProcessGroup({
    name: `process group ${groupId} of sandbox ${sandbox.id}`,
    groupId,
    run: async (argv) => (await retryCalls(maxFailedCalls, () => sandbox.exec(argv, options))).stdout,
  })
}
