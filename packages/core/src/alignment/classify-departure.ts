import type { AssistantMessage, Message } from '@agentrl/spec'
import type { Departure, DriftCause } from './drift-causes.ts'
import { argumentsEqual, type MessagesEqual, messagesEquivalent, messageText, reasoningOf } from './message-equality.ts'
import { isMostlyEqual, textDifference } from './text-difference.ts'

/**
 * Why a request does not continue a conversation that a session holds.
 *
 *   held     system  user  reply₁  tool  reply₂
 *   request  system  user  reply₁  TOOL  …
 *                                  └ the first message that differs decides
 *
 * Pure: two lists of messages in, a cause and the place out. What only ids can
 * tell (another split, another stop token) is `classifyTokens`.
 */
export interface Conversation {
  /** What stands before the messages: tools, template, its arguments. */
  readonly head: string
  readonly messages: readonly Message[]
}

/** Null: the request goes on where the conversation ends. Linear in the messages. */
export function classifyDeparture(
  held: Conversation,
  request: Conversation,
  { isEqual = messagesEquivalent }: { readonly isEqual?: MessagesEqual } = {},
): Departure | null {
  const index = firstDifference(held.messages, request.messages, isEqual)
  if (held.head !== request.head && index > 0) {
    return { cause: 'tool_list_changed', where: 'head', ...textDifference(held.head, request.head) }
  }
  if (index >= held.messages.length) return null
  const comparison = { held: held.messages, request: request.messages, index, isEqual }
  if (isRestart(comparison)) return departure('compaction', comparison)
  const heldMessage = held.messages[index]
  const found = request.messages[index]
  if (heldMessage === undefined || found === undefined) return departure('edited_history', comparison)
  if (isMoved(comparison)) return departure('moved_system_message', comparison)
  if (heldMessage.role === 'assistant') {
    return found.role === 'assistant'
      ? classifyReplies(heldMessage, found, `messages[${index}]`)
      : departure('dropped_reply', comparison)
  }
  if (dropsEmptyReply(comparison)) return departure('dropped_reply', comparison)
  return departure(isInHead(comparison) ? 'cache_buster' : 'edited_history', comparison)
}

/** What a client changed in a reply that it sent back, in the order of how much it says. Null: nothing. */
export function echoDifference(reply: AssistantMessage, echo: AssistantMessage, where: string): Departure | null {
  const difference = classifyReplies(reply, echo, where)
  return difference.cause === 'edited_history' ? null : difference
}

interface Comparison {
  readonly held: readonly Message[]
  readonly request: readonly Message[]
  /** Of the first message that differs. */
  readonly index: number
  readonly isEqual: MessagesEqual
}

function firstDifference(left: readonly Message[], right: readonly Message[], isEqual: MessagesEqual): number {
  let index = 0
  for (; index < left.length && index < right.length; index += 1) {
    if (!isEqual(left[index] as Message, right[index] as Message)) break
  }
  return index
}

function departure(cause: DriftCause, { held, request, index }: Comparison): Departure {
  const [heldMessage, found] = [held[index], request[index]]
  if (heldMessage?.role !== found?.role) {
    return { cause, where: `messages[${index}]`, held: describe(heldMessage), found: describe(found) }
  }
  const where = `messages[${index}].content`
  return { cause, where, ...textDifference(textOf(heldMessage), textOf(found)) }
}

function describe(message: Message | undefined): string {
  if (message === undefined) return ''
  const text = textOf(message)
  return `${message.role}: ${textDifference(text, '').held}`
}

function textOf(message: Message | undefined): string {
  return message === undefined ? '' : messageText(message)
}

/** Words with which clients begin a conversation that goes on from a summary. */
const summaryOpeners = [
  'This session is being continued from a previous conversation',
  'What did we do so far?',
  'Another language model started to solve this problem',
]

/** A summary shorter than this could stand in a message by chance. */
const shortestSummary = 40

/** The history is replaced by a summary: words that say so, or the last reply's text inside a message of somebody else. */
function isRestart({ held, request, index, isEqual }: Comparison): boolean {
  const added = request.slice(index).filter((message) => message.role !== 'assistant')
  const heldTexts = new Set(held.map(textOf))
  const texts = added.map(textOf).filter((text) => !heldTexts.has(text))
  if (texts.some((text) => summaryOpeners.some((opener) => text.includes(opener)))) return true
  const last = held.findLast((message) => message.role === 'assistant')
  const summary = last === undefined ? '' : textOf(last).trim()
  if (last === undefined || summary.length < shortestSummary) return false
  return !request.some((message) => isEqual(last, message)) && texts.some((text) => text.includes(summary))
}

/** A system message on one side, and the rest goes on without it. */
function isMoved({ held, request, index, isEqual }: Comparison): boolean {
  const heldMessage = held[index] as Message
  const found = request[index] as Message
  if (heldMessage.role === 'system' && index > 0) {
    const next = held[index + 1]
    const goesOn = next !== undefined && isEqual(next, found)
    return goesOn || request.some((message) => isEqual(heldMessage, message))
  }
  if (found.role === 'system' && index > 0) {
    const next = request[index + 1]
    const goesOn = next !== undefined && isEqual(heldMessage, next)
    return goesOn || held.some((message) => isEqual(found, message))
  }
  return false
}

/** The next reply says nothing, and the request rewrites the message before it instead of sending it back. */
function dropsEmptyReply({ held, request, index }: Comparison): boolean {
  const reply = held.slice(index).find((message) => message.role === 'assistant')
  if (reply === undefined || textOf(reply).trim() !== '' || (reply.tool_calls ?? []).length > 0) return false
  return !request.slice(index).some((message) => message.role === 'assistant')
}

/** Before the first reply, and the same text but for a part. */
function isInHead({ held, request, index }: Comparison): boolean {
  const isBeforeReplies = !held.slice(0, index).some((message) => message.role === 'assistant')
  return (
    isBeforeReplies &&
    held[index]?.role === request[index]?.role &&
    isMostlyEqual(textOf(held[index]), textOf(request[index]))
  )
}

function classifyReplies(held: AssistantMessage, found: AssistantMessage, where: string): Departure {
  const heldCalls = held.tool_calls ?? []
  const foundCalls = found.tool_calls ?? []
  if (heldCalls.length > 0 && foundCalls.length === 0) {
    return { cause: 'dropped_field', where: `${where}.tool_calls`, held: callText(held), found: '' }
  }
  if (heldCalls.length !== foundCalls.length) {
    return { cause: 'edited_history', where: `${where}.tool_calls`, ...textDifference(callText(held), callText(found)) }
  }
  for (const [rank, { function: call }] of heldCalls.entries()) {
    const name = foundCalls[rank]?.function.name ?? ''
    if (call.name !== name) {
      return {
        cause: 'renamed_call',
        where: `${where}.tool_calls[${rank}].function.name`,
        held: call.name,
        found: name,
      }
    }
  }
  const changes = [...changedTexts(held, found, where), ...changedArguments(held, found, where)]
  const byWeight = (['edited_history', 'dropped_field', 'arguments_reserialized'] as const).flatMap((cause) =>
    changes.filter((change) => change.cause === cause),
  )
  return (
    byWeight[0] ?? { cause: 'edited_history', where, ...textDifference(JSON.stringify(held), JSON.stringify(found)) }
  )
}

function changedTexts(held: AssistantMessage, found: AssistantMessage, where: string): Departure[] {
  const fields = [
    ['content', (held.content ?? '').trim(), (found.content ?? '').trim()],
    ['reasoning_content', reasoningOf(held), reasoningOf(found)],
  ] as const
  return fields.flatMap(([field, heldText, foundText]): Departure[] => {
    if (heldText === foundText) return []
    const cause = foundText === '' ? 'dropped_field' : 'edited_history'
    return [{ cause, where: `${where}.${field}`, ...textDifference(heldText, foundText) }]
  })
}

function changedArguments(held: AssistantMessage, found: AssistantMessage, where: string): Departure[] {
  return (held.tool_calls ?? []).flatMap(({ function: call }, rank): Departure[] => {
    const other = found.tool_calls?.[rank]?.function.arguments ?? ''
    if (call.arguments === other) return []
    const cause = argumentsEqual(call.arguments, other) ? 'arguments_reserialized' : 'edited_history'
    const difference = textDifference(argumentsText(call.arguments), argumentsText(other))
    return [{ cause, where: `${where}.tool_calls[${rank}].function.arguments`, ...difference }]
  })
}

function callText(message: AssistantMessage): string {
  return (message.tool_calls ?? [])
    .map(({ function: call }) => `${call.name} ${argumentsText(call.arguments)}`)
    .join(', ')
}

function argumentsText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
