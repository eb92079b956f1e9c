import { readdirSync, readFileSync } from 'node:fs'
import type { ProcessGroup } from './process-group.ts'
import { isProcessAlive } from './process-owner.ts'

/** A process of this machine, as /proc shows it. */
interface HostProcess {
  readonly processId: number
  readonly parentId: number
  readonly groupId: number
  readonly sessionId: number
  readonly isZombie: boolean
  readonly name: string
}

/** Whether every process can be seen, with its environment; elsewhere only groups are known. */
const hasProc = process.platform === 'linux'

/** The processes of this machine. Empty where there is no /proc. */
function listHostProcesses(): readonly HostProcess[] {
  return processIds().flatMap((processId) => readHostProcess(processId) ?? [])
}

/** The processes whose initial environment holds `entry` (`NAME=value`), as far as we may read it. */
function findProcessesByEnvironment(entry: string): readonly HostProcess[] {
  const needle = `\0${entry}\0`
  return processIds().flatMap((processId) => {
    const environment = readProcFile(processId, 'environ')
    const isMatch = environment !== undefined && `\0${environment}\0`.includes(needle)
    return isMatch ? (readHostProcess(processId) ?? []) : []
  })
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
  const find = (): readonly HostProcess[] => {
    const marked = findProcessesByEnvironment(`AGENTRL_SANDBOX_ID=${id}`)
    const isMember = (found: HostProcess): boolean => groups.has(found.groupId) || groups.has(found.sessionId)
    const members = groups.size === 0 ? [] : listHostProcesses().filter(isMember)
    const byId = new Map([...marked, ...members].map((found) => [found.processId, found]))
    return [...byId.values()].filter((found) => !found.isZombie && found.processId !== process.pid)
  }
  return {
    name: `sandbox ${id}`,
    async signal(signal) {
      for (const groupId of groups) signalHostProcess(-groupId, signal)
      for (const { processId } of find()) signalHostProcess(processId, signal)
    },
    async survivors() {
      const found = find()
      if (found.length > 0 || hasProc) return found.map(describeProcess)
      return [...groups].filter((groupId) => isProcessAlive(-groupId)).map((groupId) => `process group ${groupId}`)
    },
  }
}

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

function readHostProcess(processId: number): HostProcess | undefined {
  const stat = readProcFile(processId, 'stat')
  if (stat === undefined) return undefined
  const nameEnd = stat.lastIndexOf(')')
  const [state, parentId, groupId, sessionId] = stat.slice(nameEnd + 2).split(' ')
  return {
    processId,
    parentId: Number(parentId),
    groupId: Number(groupId),
    sessionId: Number(sessionId),
    isZombie: state === 'Z' || state === 'X',
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
