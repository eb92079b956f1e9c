import type { ProcessGroup } from './process-group.ts'
import type { Sandbox } from './sandbox.ts'
import type { ExecOptions } from './sandbox-types.ts'

/** Prints `<pid> <name>` for each member of group $1 that is not a zombie; needs nothing but a shell and /proc. */
const listMembers = `for file in /proc/[0-9]*/stat; do
  { read -r line < "$file"; } 2>/dev/null || continue
  set -- "$1" \${line##*) }
  [ "$4" = "$1" ] && [ "$2" != Z ] && [ "$2" != X ] && echo "process \${line%%)*})"
done; exit 0`

/** A process group inside a sandbox, reached through commands of the sandbox. */
export function sandboxProcessGroup(sandbox: Sandbox, groupId: number, options: ExecOptions = {}): ProcessGroup {
  const short: ExecOptions = { ...options, timeoutMs: 30_000, quiet: true }
  return {
    name: `process group ${groupId} of sandbox ${sandbox.id}`,
    async signal(signal) {
      await sandbox.exec(
        ['/bin/sh', '-c', `kill -${signal.slice(3)} "-$1" 2>/dev/null; exit 0`, 'sh', `${groupId}`],
        short,
      )
    },
    async survivors() {
      const outcome = await sandbox.exec(['/bin/sh', '-c', listMembers, 'sh', `${groupId}`], { ...short, check: true })
      return outcome.stdout.split('\n').filter((line) => line !== '')
    },
  }
}
