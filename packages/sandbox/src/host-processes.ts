import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProcessGroup } from './process-group.ts'
import { isProcessAlive } from './process-owner.ts'

/** A process of this machine, as /proc shows it. */
interface HostProcess {
  readonly processId: number
  readonly groupId: number
  readonly sessionId: number
  readonly isZombie: boolean
  /** Its memory is being set up: it has no environment yet. */
  readonly isStarting: boolean
  readonly name: string
}

/** Whether every process can be seen, with its environment; elsewhere only groups are known. */
const hasProc = process.platform === 'linux'

/** The processes of this machine. Empty where there is no /proc. */
function listHostProcesses(): readonly HostProcess[] {
  return processIds().flatMap((processId) => readHostProcess(processId) ?? [])
}

interface MarkedProcesses {
  readonly found: readonly HostProcess[]
  /** Whether a process was met whose environment can't be read yet, because it is between fork and exec. */
  readonly isUnsure: boolean
}

/** The processes whose initial environment holds `entry` (`NAME=value`), as far as we may read it. */
function findProcessesByEnvironment(entry: string): MarkedProcesses {
  const needle = `\0${entry}\0`
  const found: HostProcess[] = []
  let isUnsure = false
  for (const processId of processIds()) {
    const environment = readProcFile(processId, 'environ')
    if (environment === undefined) continue
    const seen = environment === '' || `\0${environment}\0`.includes(needle) ? readHostProcess(processId) : undefined
    if (seen === undefined) continue
    if (environment !== '') found.push(seen)
    else if (seen.isStarting) isUnsure = true
  }
  return { found, isUnsure }
}

/** Signals one process, or with a negative number a group; one that is gone is no error. */
export function signalHostProcess(processId: number, signal: NodeJS.Signals): void {
  try {
    process.kill(processId, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A process group of this machine, by the id of its leader. */
export function hostProcessGroup(groupId: number): ProcessGroup {
  return {
    name: `process group ${groupId}`,
    async signal(signal) {
      signalHostProcess(-groupId, signal)
    },
    async survivors() {
      if (!isProcessAlive(-groupId)) return []
      const members = listHostProcesses().filter((member) => member.groupId === groupId)
      if (members.length === 0) return isProcessAlive(-groupId) ? [`a member of group ${groupId}`] : []
      return members.filter((member) => !member.isZombie).map(describeProcess)
    },
  }
}

/**
 * Every process of a sandbox that this host can tell: whatever carries the
 * sandbox's mark (`AGENTRL_SANDBOX_ID`) in its environment, and the members of
 * the process groups and sessions in `groups`.
 */
export function sandboxProcesses(id: string, groups: ReadonlySet<number> = new Set()): ProcessGroup {
  function find(): MarkedProcesses {
    const { found: marked, isUnsure } = findProcessesByEnvironment(`AGENTRL_SANDBOX_ID=${id}`)
    const isMember = (found: HostProcess): boolean => groups.has(found.groupId) || groups.has(found.sessionId)
    const members = groups.size === 0 ? [] : listHostProcesses().filter(isMember)
    const byId = new Map([...marked, ...members].map((found) => [found.processId, found]))
    const found = [...byId.values()].filter((one) => !one.isZombie && one.processId !== process.pid)
    return { found, isUnsure }
  }
  return {
    name: `sandbox ${id}`,
    async signal(signal) {
      for (const groupId of groups) signalHostProcess(-groupId, signal)
      for (const { processId } of find().found) signalHostProcess(processId, signal)
    },
    async survivors() {
      if (!hasProc)
        return [...groups].filter((groupId) => isProcessAlive(-groupId)).map((groupId) => `process group ${groupId}`)
      // One look may miss a child that is just being born, or that got a smaller number than its parent.
      for (let looks = 1; looks <= maxLooks; looks += 1) {
        const { found, isUnsure } = find()
        if (found.length > 0) return found.map(describeProcess)
        if (looks > 1 && !isUnsure) break
        await delay(2)
      }
      return []
    },
  }
}

/** A process is between fork and exec for a moment; one that stays there is none of ours. */
const maxLooks = 20

function describeProcess(found: HostProcess): string {
  return `process ${found.processId} (${found.name})`
}

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
  } catch {
    return []
  }
}

/** PF_KTHREAD of linux/sched.h, in field 9 of /proc/PID/stat. */
const kernelThreadFlag = 0x00200000

function readHostProcess(processId: number): HostProcess | undefined {
  const stat = readProcFile(processId, 'stat')
  if (stat === undefined) return undefined
  const nameEnd = stat.lastIndexOf(')')
  const fields = stat.slice(nameEnd + 2).split(' ')
  const [state, , groupId, sessionId] = fields
  const isZombie = state === 'Z' || state === 'X'
  const isKernelThread = (Number(fields[6]) & kernelThreadFlag) !== 0
  return {
    processId,
    groupId: Number(groupId),
    sessionId: Number(sessionId),
    isZombie,
    // Field 51, env_end, is set when the new program is in place.
    isStarting: !isZombie && !isKernelThread && fields[48] === '0',
    name: stat.slice(stat.indexOf('(') + 1, nameEnd),
  }
}

function readProcFile(processId: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${processId}/${name}`, 'latin1')
  } catch {
    return undefined
  }
}
