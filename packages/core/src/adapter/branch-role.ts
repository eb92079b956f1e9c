import type { Message } from '@agentrl/spec'
import { messageText } from '../alignment/message-equality.ts'
import type { BranchRole } from '../alignment/message-tree.ts'
import { isMostlyEqual } from '../alignment/text-difference.ts'
import type { ChatRequest } from './protocols/protocol.ts'

/**
 * What a request is for: the task itself, a sub-agent's part of it, a summary
 * of the history, or something beside the task such as a title.
 *
 * Clients that say so are believed: Claude Code (`x-claude-code-agent-id`, and
 * `cc_is_subagent` in a system block), CodeBuddy (`x-agent-purpose`), opencode
 * (`x-parent-session-id`). Of others the shape says it: a session's main
 * conversation offers tools, a title or a summary does not, and a sub-agent has
 * another system prompt and other tools.
 */
export interface RoleEvidence {
  readonly request: Pick<ChatRequest, 'isMarkedSubAgent' | 'wantsStructuredOutput'>
  readonly header: RequestHeader
  readonly messages: readonly Message[]
  readonly toolNames: readonly string[]
  /** The role of the turn that the request goes on from; null if there is none. */
  readonly inheritedRole: BranchRole | null
  /** Of the session's main conversation; null while none has offered tools. */
  readonly main: MainConversation | null
  /** Whether the request holds a reply of the main conversation as history. */
  readonly quotesMain: boolean
}

/** A header of a request by its lower-case name. */
export type RequestHeader = (name: string) => string | undefined

export interface MainConversation {
  readonly system: string
  readonly toolNames: readonly string[]
}

/** Words with which clients ask for a summary, as measured with Claude Code and Codex. */
const compactionPrompts = [
  'CRITICAL: Respond with TEXT ONLY. Do NOT call any tools',
  'You are performing a CONTEXT CHECKPOINT COMPACTION',
  'Your task is to create a detailed summary of the conversation so far',
]

export function branchRole(evidence: RoleEvidence): BranchRole {
  const { request, inheritedRole, messages, toolNames, main } = evidence
  const stated = statedRole(evidence)
  if (stated !== null) return stated
  const asked = messageText(messages.at(-1) ?? { role: 'user', content: '' })
  if (compactionPrompts.some((prompt) => asked.includes(prompt))) return 'compaction'
  if (inheritedRole !== null) return inheritedRole
  if (toolNames.length === 0) {
    if (evidence.quotesMain) return 'compaction'
    return main !== null || request.wantsStructuredOutput ? 'auxiliary' : 'main'
  }
  return main !== null && isAnotherAgent(messages, toolNames, main) ? 'sub_agent' : 'main'
}

function statedRole({ request, header }: RoleEvidence): BranchRole | null {
  if (request.isMarkedSubAgent || header('x-claude-code-agent-id') !== undefined) return 'sub_agent'
  if (header('x-parent-session-id') !== undefined) return 'sub_agent'
  const purpose = header('x-agent-purpose') ?? ''
  if (purpose.startsWith('subagent')) return 'sub_agent'
  if (/compact|summar/i.test(purpose)) return 'compaction'
  return purpose === '' || purpose === 'conversation' ? null : 'auxiliary'
}

/** Another system prompt and another tool list. One of them alone is a change of the same agent. */
function isAnotherAgent(messages: readonly Message[], toolNames: readonly string[], main: MainConversation): boolean {
  const hasOtherTools = toolNames.join(' ') !== main.toolNames.join(' ')
  return hasOtherTools && !isMostlyEqual(systemOf(messages), main.system)
}

/** The text of a leading system message; '' if there is none. */
export function systemOf(messages: readonly Message[]): string {
  const [first] = messages
  return first?.role === 'system' ? messageText(first) : ''
}
