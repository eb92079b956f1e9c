import { type AssistantMessage, isAgentRlError, type Message, type ToolDefinition } from '@agentrl/spec'
import type { RenderedText } from './chat-template.ts'

/**
 * The stand-in conversations of suffix-template.ts: as short as a template
 * allows, with sentinels where a sampled value ends.
 *
 *   head (tools, system) │ question │ reply │ new messages
 *   ───── stand-ins, nothing of outside text ─────┤ as they are
 */

// Letters only, so that no template escapes, strips or splits them.
export const questionSentinel = 'AgentRLSentinelQuestion'
export const reasoningSentinel = 'AgentRLSentinelReasoning'
export const replySentinel = 'AgentRLSentinelReply'

/** What a template renders: `standIn` is unmarked, what is `added` is marked (control-tokens.ts). */
export interface StandInConversation {
  readonly standIn: readonly Message[]
  readonly added: readonly Message[]
  readonly tools: readonly ToolDefinition[]
}

export type RenderStandIn = (conversation: StandInConversation) => RenderedText

/** Null where the template fails on the conversation: so will the whole one, and then it says why. */
export function renderOrNull(render: RenderStandIn, conversation: StandInConversation): RenderedText | null {
  try {
    return render(conversation)
  } catch (error) {
    if (isAgentRlError(error) && error.code === 'trajectory_template') return null
    throw error
  }
}

export const standInQuestion: Message = { role: 'user', content: questionSentinel }

/** One small tool keeps templates on the path that they take with tools. */
export const standInTools: readonly ToolDefinition[] = [
  {
    type: 'function',
    function: { name: 'tool', description: 'tool', parameters: { type: 'object', properties: {} } },
  },
]

/**
 * The reply with its last value replaced, in the forms to be tried. Names and
 * ids stay: templates repeat them with the results. A template that takes one
 * call at a time is shown the last one.
 */
export function standInReplies(
  { tool_calls: calls = [] }: AssistantMessage,
  { hasReasoning }: { readonly hasReasoning: boolean },
): readonly AssistantMessage[] {
  const reasoning = hasReasoning ? { reasoning_content: reasoningSentinel } : {}
  if (calls.length === 0) return [{ role: 'assistant', content: replySentinel, ...reasoning }]
  const standIns = calls.map((call, index) => ({
    ...call,
    function: {
      name: call.function.name,
      arguments: JSON.stringify({ value: index === calls.length - 1 ? replySentinel : '' }),
    },
  }))
  const whole: AssistantMessage = { role: 'assistant', content: '', tool_calls: standIns, ...reasoning }
  return calls.length === 1 ? [whole] : [whole, { ...whole, tool_calls: standIns.slice(-1) }]
}

/** The messages before a reply with every value shortened, for templates that count them. The first user asks the question. */
export function skeletonOf(messages: readonly Message[]): readonly Message[] {
  const question = messages.findIndex((message) => message.role === 'user')
  return messages.map((message, index): Message => {
    if (index === question) return standInQuestion
    if (message.role !== 'assistant') return { ...message, content: 'text' }
    const calls = message.tool_calls?.map((call) => ({
      ...call,
      function: { name: call.function.name, arguments: '{}' },
    }))
    return calls === undefined
      ? { role: 'assistant', content: 'text' }
      : { role: 'assistant', content: '', tool_calls: calls }
  })
}

/** A call with an id that every template accepts: nine letters and digits. */
export function standInCall(callNumber: number): AssistantMessage {
  return {
    role: 'assistant',
    content: '',
    tool_calls: [
      { id: standInCallId(callNumber), type: 'function', function: { name: 'tool', arguments: '{"value": ""}' } },
    ],
  }
}

export function standInResult(callNumber: number): Message {
  return { role: 'tool', content: 'text', tool_call_id: standInCallId(callNumber), name: 'tool' }
}

function standInCallId(callNumber: number): string {
  return `call${String(callNumber).padStart(5, '0')}`
}
