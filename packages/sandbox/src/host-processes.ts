import { readdirSync, readFileSync } from 'node:fs'
import type { ProcessGroup } from './process-group.ts'
import { isProcessAlive } from './process-owner.ts'

/** A process of this machine, as /proc shows it. */
export interface HostProcess {
  readonly processId: number
  readonly parentId: number
  readonly groupId: number
  readonly sessionId: number
  readonly isZombie: boolean
  readonly name: string
}

/** The processes of this machine. Empty where there is no /proc. */
export function listHostProcesses(): readonly HostProcess[] {
  return processIds().flatMap((processId) => readHostProcess(processId) ?? [])
}

/** The processes whose initial environment holds `entry` (`NAME=value`), as far as we may read it. */
export function findProcessesByEnvironment(entry: string): readonly HostProcess[] {
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

export function describeProcess(found: HostProcess): string {
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
