import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { signalHostProcess } from '../host-processes.ts'
import type { ProcessGroup } from '../process-group.ts'

/**
 * The processes of a process namespace, seen from the host. Nothing can leave
 * its process namespace, so this finds every child, however it was started.
 */
export interface ProcessNamespace {
  /** Everything in it. */
  readonly all: ProcessGroup
  /** The group or session whose leader is `leader` inside. */
  group(leader: number): ProcessGroup
  /** Lets the kernel forget the namespace. */
  close(): void
}

interface Member {
  readonly processId: number
  /** As the host counts; every member of such a group is in the namespace. */
  readonly groupOnHost: number
  readonly groupInside: number
  readonly sessionInside: number
  readonly name: string
  readonly isZombie: boolean
}

/**
 * Opens the namespace of a process. It stays open until `close`: the kernel
 * gives the number of a namespace that is gone to the next one.
 */
export function openProcessNamespace(processId: number, name: string): ProcessNamespace {
  const path = `/proc/${processId}/ns/pid`
  const link = readlinkSync(path)
  let descriptor: number | undefined = openSync(path, 'r')

  function members(): readonly Member[] {
    return readdirSync('/proc').flatMap((entry) => (/^\d+$/.test(entry) ? (readMember(Number(entry), link) ?? []) : []))
  }

  function groupOf(isMember: (member: Member) => boolean, groupName: string): ProcessGroup {
    const find = (): readonly Member[] => members().filter((member) => !member.isZombie && isMember(member))
    return {
      name: groupName,
      async signal(signal) {
        // Whole groups, at once: a shell that outlives its child for a moment would go on with its script.
        for (const group of new Set(find().map(({ groupOnHost }) => groupOnHost))) signalHostProcess(-group, signal)
      },
      async survivors() {
        return find().map((member) => `process ${member.processId} (${member.name})`)
      },
    }
  }

  return {
    all: groupOf(() => true, name),
    group: (leader) =>
      groupOf(
        (member) => member.groupInside === leader || member.sessionInside === leader,
        `process group ${leader} of ${name}`,
      ),
    close() {
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
    },
  }
}

function readMember(processId: number, namespaceLink: string): Member | undefined {
  try {
    if (readlinkSync(`/proc/${processId}/ns/pid`) !== namespaceLink) return undefined
    const status = readFileSync(`/proc/${processId}/status`, 'latin1')
    // NSpgid: 4711 42 - the id in our namespace first, in the innermost last.
    const ids = (field: string): readonly number[] =>
      (new RegExp(`^${field}:(.*)$`, 'm').exec(status)?.[1] ?? '').trim().split(/\s+/).map(Number)
    const groups = ids('NSpgid')
    return {
      processId,
      groupOnHost: groups[0] ?? 0,
      groupInside: groups.at(-1) ?? 0,
      sessionInside: ids('NSsid').at(-1) ?? 0,
      name: /^Name:\t(.*)$/m.exec(status)?.[1] ?? '',
      isZombie: /^State:\t[ZX]/m.test(status),
    }
  } catch {
    return undefined
  }
}
