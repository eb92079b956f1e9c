import type { BranchRole } from '../alignment/message-tree.ts'
import type { Trajectory } from '../alignment/trajectory.ts'
import { branchRole, type MainConversation, type RequestHeader, systemOf } from './branch-role.ts'
import type { ChatRequest } from './protocols/protocol.ts'
import type { TurnConversation } from './turn-context.ts'

/** Tells the roles of a session's requests apart, by what the session has seen so far. */
export class BranchTracker {
  readonly #trajectory: Trajectory
  #main: MainConversation | null = null
  /** Heads without tools under which main turns were recorded, before any request offered tools. */
  readonly #toollessHeads = new Set<string>()

  constructor(trajectory: Trajectory) {
    this.#trajectory = trajectory
  }

  /** The role of a request, before its turn is recorded. */
  roleOf(conversation: TurnConversation, request: ChatRequest, header: RequestHeader): BranchRole {
    const { messages, head } = conversation
    const toolNames = conversation.tools.map((tool) => tool.function.name)
    const inheritedRole = this.#trajectory.inheritedRole(messages, head)
    const role = branchRole({
      request,
      header,
      messages,
      toolNames,
      inheritedRole,
      main: this.#main,
      quotesMain: toolNames.length === 0 && inheritedRole === null && this.#trajectory.isQuotedIn(messages),
    })
    if (role === 'main' && toolNames.length === 0) this.#toollessHeads.add(head)
    if (role === 'main' && toolNames.length > 0) this.#main ??= { system: systemOf(messages), toolNames }
    return role
  }

  /**
   * Titles often come before the task. Once a conversation offers tools, what
   * came before it without tools was beside the task, unless this is the same
   * conversation. How many branches were given that role.
   */
  demoteTitles({ messages, tools }: TurnConversation): number {
    if (tools.length === 0) return 0
    const demoted = [...this.#toollessHeads].filter((head) => !this.#trajectory.isBegunBy(messages, head))
    for (const head of demoted) this.#trajectory.changeRole(head, 'main', 'auxiliary')
    this.#toollessHeads.clear()
    return demoted.length
  }
}
