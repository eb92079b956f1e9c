import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * Who owns a sandbox: `<host>:<process id>:<start time>`. The start time (in
 * clock ticks since boot, field 22 of /proc/PID/stat; 0 where there is no /proc)
 * tells a process from a later one that got its number.
 */
export function processOwner(processId: number = process.pid): string {
  return `${hostLabel()}:${processId}:${startTicks(processId) ?? 0}`
}

/**
 * Whether the process that an owner label names still runs on this host. A
 * label of another host, or of another form, gives undefined: not for us to say.
 */
export function isOwnerAlive(owner: string): boolean | undefined {
  const match = /^(.+):(\d+):(\d+)$/.exec(owner)
  if (match === null || match[1] !== hostLabel()) return undefined
  const processId = Number(match[2])
  const started = startTicks(processId)
  if (started !== undefined) return started === Number(match[3]) || match[3] === '0'
  if (match[3] !== '0') return false
  return isProcessAlive(processId)
}

/** Whether a process, or with a negative number a process group, exists. */
export function isProcessAlive(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function hostLabel(): string {
  return (
    hostname()
      .replace(/[^A-Za-z0-9._-]/g, '-')
      .replace(/^[^A-Za-z0-9]/, 'h') || 'host'
  )
}

function startTicks(processId: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'utf8')
    // The second field is the program's name in brackets, which may itself hold spaces and brackets.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    return undefined
  }
}
