import type { SandboxId } from '@agentrl/spec'

/** By these two, a command and whoever looks for it know the sandbox. */
export function sandboxMarks(id: SandboxId, root: string): Record<string, string> {
  return { AGENTRL_SANDBOX_ID: id, AGENTRL_SANDBOX_ROOT: root }
}

/** The environment of commands on a system of which we know nothing: no variable of the host is in it. */
export function plainEnvironment({ home, tmp }: { home: string; tmp: string }): Record<string, string> {
  return { PATH: systemPath, HOME: home, TMPDIR: tmp, LANG: 'C.UTF-8' }
}

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
