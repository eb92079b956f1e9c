import type { AssistantMessage, JsonValue, Message, MessageToolCall } from '@agentrl/spec'

/** Decides whether a message of a request is the one that a tree node holds. */
export type MessagesEqual = (left: Message, right: Message) => boolean

/** Deep equality of JSON values; the order of keys is no difference, an absent key and `undefined` are the same. */
export function jsonEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
    return left.every((value, index) => jsonEqual(value, right[index]))
  }
  const leftFields = left as Record<string, JsonValue | undefined>
  const rightFields = right as Record<string, JsonValue | undefined>
  const keys = new Set([...Object.keys(leftFields), ...Object.keys(rightFields)])
  for (const key of keys) if (!jsonEqual(leftFields[key], rightFields[key])) return false
  return true
}

/** Every field counts, as written: the rule of rerender mode. */
export const messagesIdentical: MessagesEqual = (left, right) => jsonEqual(left, right)

/**
 * What a client may change without saying anything new is no difference: tool
 * call ids, how arguments are serialized, white space around the text and the
 * reasoning of a reply, text as a string or as one part, an empty text as null,
 * reasoning that is left out.
 */
export const messagesEquivalent: MessagesEqual = (left, right) => {
  if (left.role !== right.role) return false
  if (left.role !== 'assistant' || right.role !== 'assistant') return messageText(left) === messageText(right)
  return (
    (left.content ?? '').trim() === (right.content ?? '').trim() &&
    reasoningEquivalent(left, right) &&
    callsEquivalent(left.tool_calls ?? [], right.tool_calls ?? [])
  )
}

function reasoningEquivalent(left: AssistantMessage, right: AssistantMessage): boolean {
  const [leftText, rightText] = [reasoningOf(left), reasoningOf(right)]
  return leftText === '' || rightText === '' || leftText === rightText
}

function callsEquivalent(left: readonly MessageToolCall[], right: readonly MessageToolCall[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ function: call }, index) => {
      const other = right[index]?.function
      return other !== undefined && call.name === other.name && argumentsEqual(call.arguments, other.arguments)
    })
  )
}

/** The reasoning of a reply without white space around it; '' if it has none. */
export function reasoningOf(message: AssistantMessage): string {
  return (message.reasoning_content ?? '').trim()
}

/** The text of a message: a string as it is, parts joined; images by their address. */
export function messageText(message: Message): string {
  if (message.content === null) return ''
  if (typeof message.content === 'string') return message.content
  return message.content.map((part) => (part.type === 'text' ? part.text : `\u0000image:${part.url}`)).join('')
}

/** The same for replies that are equivalent: to look for one among many without comparing it with each. */
export function replyKey(reply: AssistantMessage): string {
  const calls = (reply.tool_calls ?? []).map(({ function: call }) => [
    call.name,
    sorted(parsedArguments(call.arguments)),
  ])
  return JSON.stringify([(reply.content ?? '').trim(), calls])
}

/** The same JSON value with the keys of its objects sorted. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return entries.sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, member]) => [key, sorted(member)])
}

/** Whether arguments say the same: numbers by value, keys in any order. */
export function argumentsEqual(left: unknown, right: unknown): boolean {
  return left === right || jsonEqual(parsedArguments(left), parsedArguments(right))
}

function parsedArguments(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value === '' ? '{}' : value)
  } catch {
    return value
  }
}
