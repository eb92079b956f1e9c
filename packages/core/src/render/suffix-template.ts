import type { AssistantMessage, Message, ToolDefinition } from '@agentrl/spec'
import { type RenderedSegment, splitRendered } from './control-tokens.ts'
import type { RenderRequest, SuffixRequest } from './renderer.ts'
import type { AddedToken } from './tokenizer.ts'

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
  readonly text: string
  readonly protectedTokens: number
  readonly dropsStopToken: boolean
}

export interface SuffixTemplateParts {
  readonly render: (
    request: RenderRequest,
    addGenerationPrompt: boolean,
  ) => { readonly text: string; readonly protectedTokens: number }
  readonly addedTokens: readonly AddedToken[]
  readonly stopTokenIds: readonly number[]
}

/** Stands where a sampled value ends. Letters only, so that no template escapes or strips it. */
const sentinel = 'AgentRLSentinelValue'
/** Stands for the content of the first new message. */
const nextSentinel = 'AgentRLSentinelNext'

export function createSuffixTemplate(parts: SuffixTemplateParts): (request: SuffixRequest) => Suffix | null {
  const junctions = new Map<string, string | null>()

  /** The text between the end of a reply and the content of the next message. Depends on their kinds alone. */
  function junctionText(reply: AssistantMessage, next: Message, tools: readonly ToolDefinition[]): string | null {
    const key = `${(reply.tool_calls ?? []).length > 0} ${next.role} ${tools.length > 0}`
    const known = junctions.get(key)
    if (known !== undefined) return known
    const probe = { ...next, content: nextSentinel } as Message
    const tail = textAfterSentinel(parts, standInConversation(reply, [probe]), tools)
    const end = tail?.text.indexOf(nextSentinel) ?? -1
    const junction = tail === null || end < 0 ? null : tail.text.slice(0, end)
    junctions.set(key, junction)
    return junction
  }

  return (request) => {
    const reply = request.messages[request.inheritedMessages - 1]
    if (reply?.role !== 'assistant') return null
    const added = request.messages.slice(request.inheritedMessages)
    const tail = textAfterSentinel(parts, standInConversation(reply, added), request.tools)
    if (tail === null) return null
    const next = added[0]
    const junction = next === undefined ? tail.text : junctionText(reply, next, request.tools)
    if (junction === null || !tail.text.startsWith(junction)) return null
    const hasCalls = (reply.tool_calls ?? []).length > 0
    const stop = findStop(splitRendered(junction, parts.addedTokens), parts.stopTokenIds)
    // Behind the arguments of a call stand its closing marks: without a stop token we can't tell where they end.
    if (stop === null && hasCalls) return null
    const isSampledStop = stop !== null && stop.id === request.stopTokenId
    const start = stop === null ? 0 : isSampledStop ? stop.charEnd : stop.charStart
    return {
      text: tail.text.slice(start),
      protectedTokens: tail.protectedTokens,
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

function textAfterSentinel(
  parts: SuffixTemplateParts,
  messages: readonly Message[],
  tools: readonly ToolDefinition[],
): { text: string; protectedTokens: number } | null {
  const rendered = parts.render({ messages, tools: tools.length === 0 ? [] : standInTools }, true)
  const start = rendered.text.indexOf(sentinel)
  if (start < 0) return null
  return { text: rendered.text.slice(start + sentinel.length), protectedTokens: rendered.protectedTokens }
}

/** The first stop token that the template itself wrote. */
function findStop(
  segments: readonly RenderedSegment[],
  stopTokenIds: readonly number[],
): { readonly id: number; readonly charStart: number; readonly charEnd: number } | null {
  let charStart = 0
  for (const segment of segments) {
    const charEnd = charStart + segment.sourceLength
    if (segment.kind === 'control' && stopTokenIds.includes(segment.id)) return { id: segment.id, charStart, charEnd }
    charStart = charEnd
  }
  return null
}
