import type { AssistantMessage, Message, ToolDefinition } from '@agentrl/spec'
import type { RenderedText } from './chat-template.ts'
import type { RenderedTextSplitter } from './control-tokens.ts'
import type { RenderRequest, SuffixRequest } from './renderer.ts'

/**
 * What a template writes after a sampled reply, without rendering the reply or
 * anything before it.
 *
 * A stand-in conversation is rendered: a short question, a reply whose last
 * value is a sentinel, and the new messages as they are. What follows the
 * sentinel is the template's own text:
 *
 *   …SENTINEL │ "}}⏎</tool_call> │ <|im_end|> │ ⏎<|im_start|>user⏎<tool_response>⏎…
 *             │ sampled by the   │ stop: was  │ suffix
 *             │ model already    │ sampled    │
 *
 * The junction is where the reply's turn ends: the first stop token that the
 * template writes before the next message's content. If it is the stop id that
 * was sampled, the suffix begins after it; if another, or if the reply was cut,
 * the suffix begins with it. A template that writes no stop token there (a
 * final text of gpt-oss ends in `<|end|>`, which the model never samples)
 * continues right behind the text. Nothing here knows a marker by name.
 */
export interface Suffix {
  readonly rendered: RenderedText
  readonly dropsStopToken: boolean
}

export interface SuffixTemplateParts {
  /** Renders with the generation prompt. */
  readonly render: (request: RenderRequest) => RenderedText
  readonly split: RenderedTextSplitter
  readonly stopTokenIds: readonly number[]
}

/** Stands where a sampled value ends. Letters only, so that no template escapes or strips it. */
const sentinel = 'AgentRLSentinelValue'
/** Stands for the content of the first new message. */
const nextSentinel = 'AgentRLSentinelNext'

export function createSuffixTemplate(parts: SuffixTemplateParts): (request: SuffixRequest) => Suffix | null {
  const junctions = new Map<string, RenderedText | null>()

  /** What is written between the end of a reply and the content of the next message: it depends on their kinds alone. */
  function junctionBefore(
    next: Message,
    reply: AssistantMessage,
    tools: readonly ToolDefinition[],
  ): RenderedText | null {
    const key = `${(reply.tool_calls ?? []).length > 0} ${next.role} ${tools.length > 0}`
    const known = junctions.get(key)
    if (known !== undefined) return known
    const probe = { ...next, content: nextSentinel } as Message
    const tail = renderedAfterSentinel(parts, standInConversation(reply, [probe]), tools)
    const end = tail?.text.indexOf(nextSentinel) ?? -1
    const junction = tail === null || end < 0 ? null : sliceRendered(tail, 0, end)
    junctions.set(key, junction)
    return junction
  }

  return (request) => {
    const reply = request.messages[request.inheritedMessages - 1]
    if (reply?.role !== 'assistant') return null
    const added = request.messages.slice(request.inheritedMessages)
    const tail = renderedAfterSentinel(parts, standInConversation(reply, added), request.tools)
    if (tail === null) return null
    const [next] = added
    const junction = next === undefined ? tail : junctionBefore(next, reply, request.tools)
    if (junction === null || !tail.text.startsWith(junction.text)) return null
    const stop = findStop(junction, parts)
    // Behind the arguments of a call stand its closing marks: without a stop token we can't tell where they end.
    if (stop === null && (reply.tool_calls ?? []).length > 0) return null
    const isSampledStop = stop !== null && stop.id === request.stopTokenId
    const start = stop === null ? 0 : isSampledStop ? stop.charEnd : stop.charStart
    return {
      rendered: sliceRendered(tail, start, tail.text.length),
      dropsStopToken: request.stopTokenId !== null && !isSampledStop,
    }
  }
}

/** A short question, the reply with its last value replaced, and the new messages. */
function standInConversation(reply: AssistantMessage, added: readonly Message[]): readonly Message[] {
  const calls = reply.tool_calls ?? []
  const last = calls.at(-1)
  const standIn: AssistantMessage =
    last === undefined
      ? { role: 'assistant', content: sentinel }
      : {
          role: 'assistant',
          content: '',
          tool_calls: [
            ...calls.slice(0, -1),
            { ...last, function: { name: last.function.name, arguments: JSON.stringify({ value: sentinel }) } },
          ],
        }
  return [{ role: 'user', content: 'question' }, standIn, ...added]
}

/** A tool list is written at the head, which is cut off; one small tool keeps templates on the same path. */
const standInTools: readonly ToolDefinition[] = [
  { type: 'function', function: { name: 'tool', description: 'tool', parameters: { type: 'object', properties: {} } } },
]

function renderedAfterSentinel(
  parts: SuffixTemplateParts,
  messages: readonly Message[],
  tools: readonly ToolDefinition[],
): RenderedText | null {
  const rendered = parts.render({ messages, tools: tools.length === 0 ? [] : standInTools })
  const start = rendered.text.indexOf(sentinel)
  return start < 0 ? null : sliceRendered(rendered, start + sentinel.length, rendered.text.length)
}

/** A part of a rendered text, with the origin of its characters. */
function sliceRendered({ text, valueSpans }: RenderedText, charStart: number, charEnd: number): RenderedText {
  const spans: number[] = []
  for (let index = 0; index < valueSpans.length; index += 2) {
    const start = Math.max(valueSpans[index] ?? 0, charStart)
    const end = Math.min(valueSpans[index + 1] ?? 0, charEnd)
    if (end > start) spans.push(start - charStart, end - charStart)
  }
  return { text: text.slice(charStart, charEnd), valueSpans: spans }
}

/** The first stop token that the template itself wrote. */
function findStop(
  junction: RenderedText,
  { split, stopTokenIds }: SuffixTemplateParts,
): { readonly id: number; readonly charStart: number; readonly charEnd: number } | null {
  let charStart = 0
  for (const segment of split(junction).segments) {
    const charEnd = charStart + segment.text.length
    if (segment.kind === 'control' && stopTokenIds.includes(segment.id)) return { id: segment.id, charStart, charEnd }
    charStart = charEnd
  }
  return null
}
