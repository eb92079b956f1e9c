import type { ContentPart, Message } from '@agentrl/spec'
import { type RenderStandIn, renderOrNull, standInQuestion } from './stand-in.ts'

/**
 * Messages as a template takes them. What coding agents send and some templates
 * refuse is found by trying the template, once:
 *
 * - System messages behind the first one. Agents send reminders that way; some
 *   templates fail on them, some leave them out without a word. There the model
 *   reads them as user messages, and they are counted. A template that writes
 *   them at their place, or moves them to its head, decides itself.
 * - Ids of calls. Some templates take nine letters and digits only; there an id
 *   is shortened, the same one always in the same way.
 * - Images. An engine is given token ids and nothing else, so no template can
 *   show one; given parts, some fail and some print an image's data as text.
 *   The model reads `[image]` in its place, and it is counted.
 */
export interface FittedMessages {
  readonly messages: readonly Message[]
  /** System messages rendered as user messages. */
  readonly systemMessagesAsUser: number
  /** Images rendered as the word for one. */
  readonly imagesAsText: number
}

export function createMessageFitter(
  render: RenderStandIn,
): (messages: readonly Message[], position?: { readonly isStart: boolean }) => FittedMessages {
  let takesReminders: boolean | null = null
  let takesAnyId: boolean | null = null

  function fitIds(message: Message): Message {
    if (message.role === 'tool' && message.tool_call_id !== undefined) {
      takesAnyId ??= readsIds(render, longId) || !readsIds(render, shortId(longId))
      return takesAnyId ? message : { ...message, tool_call_id: shortId(message.tool_call_id) }
    }
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message
    takesAnyId ??= readsIds(render, longId) || !readsIds(render, shortId(longId))
    if (takesAnyId) return message
    const calls = message.tool_calls.map((call) => (call.id === undefined ? call : { ...call, id: shortId(call.id) }))
    return { ...message, tool_calls: calls }
  }

  function isRefusedReminder({ role }: Message): boolean {
    if (role !== 'system') return false
    takesReminders ??= showsReminder(render, 'system') || !showsReminder(render, 'user')
    return !takesReminders
  }

  return (messages, { isStart } = { isStart: true }) => {
    let systemMessagesAsUser = 0
    let imagesAsText = 0
    const fitted = messages.map((original, index) => {
      const images = imagesIn(original)
      imagesAsText += images
      const message = images === 0 ? original : withoutImages(original)
      if ((isStart && index === 0) || !isRefusedReminder(message)) return fitIds(message)
      systemMessagesAsUser += 1
      return { ...message, role: 'user' } as Message
    })
    return { messages: fitted, systemMessagesAsUser, imagesAsText }
  }
}

function partsOf({ content }: Message): readonly ContentPart[] {
  return typeof content === 'string' || content === null ? [] : content
}

function imagesIn(message: Message): number {
  return partsOf(message).filter((part) => part.type === 'image').length
}

function withoutImages(message: Message): Message {
  const content = partsOf(message)
    .map((part) => (part.type === 'text' ? part.text : '[image]'))
    .join('\n')
  return { ...message, content }
}

const reminder = 'AgentRLSentinelReminder'

function showsReminder(render: RenderStandIn, role: 'system' | 'user'): boolean {
  const standIn: readonly Message[] = [
    { role: 'system', content: 'text' },
    standInQuestion,
    { role: 'assistant', content: 'text' },
    { role, content: reminder },
  ]
  return renderOrNull(render, { standIn, added: [], tools: [] })?.text.includes(reminder) ?? false
}

const longId = 'call_0123456789abcdef01234567'

function readsIds(render: RenderStandIn, id: string): boolean {
  const standIn: readonly Message[] = [
    standInQuestion,
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id, type: 'function', function: { name: 'tool', arguments: '{}' } }],
    },
    { role: 'tool', content: 'text', tool_call_id: id, name: 'tool' },
  ]
  return renderOrNull(render, { standIn, added: [], tools: [] }) !== null
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Nine letters and digits for any id; an id that is so already stays. FNV-1a of 64 bits, of which 53 are used. */
function shortId(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id
  let hash = 0xcbf29ce484222325n
  for (let index = 0; index < id.length; index += 1) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(id.charCodeAt(index))) * 0x100000001b3n)
  }
  let rest = Number(hash >> 11n)
  return Array.from({ length: 9 }, () => {
    const letter = letters[rest % letters.length] ?? ''
    rest = Math.floor(rest / letters.length)
    return letter
  }).join('')
}
