import type { AssistantMessage, Message, ToolDefinition } from '@agentrl/spec'
import type { HistoryReasoning } from '../history-reasoning.ts'
import type { RenderedText } from './chat-template.ts'
import type { RenderedSegment, RenderedTextSplitter } from './control-tokens.ts'
import { prependTemplateText, sliceRendered } from './rendered-text.ts'
import {
  questionSentinel,
  type RenderStandIn,
  reasoningSentinel,
  renderOrNull,
  replySentinel,
  skeletonOf,
  standInCall,
  standInQuestion,
  standInReplies,
  standInResult,
} from './stand-in.ts'
import { createHeadChooser, type StandInHead } from './stand-in-head.ts'

/**
 * What a template writes after a sampled reply, without rendering the reply or
 * anything before it.
 *
 * A stand-in conversation is rendered: a short question, a reply whose last
 * value is a sentinel, and the new messages as they are. What follows the
 * sentinel is the template's own text:
 *
 *   question │ …SENTINEL │ "}}⏎</tool_call> │ <|im_end|> │ ⏎<|im_start|>user⏎<tool_response>⏎ │ ok …
 *   has to stay as it was│ sampled by the   │ stop: was  │ suffix ──────────────────────────────────
 *   when it was sampled  │ model already    │ sampled    │               the junction ends here ↑
 *
 * The junction reaches from the sentinel to the first character of a new
 * message. In it lies the place where the reply's turn ends:
 *
 * - at the first stop token there. If it is the one that was sampled, the
 *   suffix begins after it (ChatML's `<|im_end|>`, and GLM's `<|observation|>`,
 *   which opens the next message); if it is another one, the suffix begins with
 *   it, and what was sampled is left out;
 * - without one, right behind a text (a final answer of gpt-oss ends in
 *   `<|end|>`, which the model never samples), and behind the closing marks of
 *   a call: those that the template writes whatever comes next;
 * - for a text that was cut, right behind it; reasoning that was cut is ended
 *   first, as the template ends it.
 *
 * Nothing here knows a marker by name. Where the stand-in can't tell, there is
 * no suffix (null) and the caller renders the whole conversation: a template
 * that moves a new message or the tools in front of the reply, and one that
 * fails. Whether a template is exact in all this, `certifyTemplate` says.
 */
export interface Suffix {
  readonly rendered: RenderedText
  /** The template does not write the sampled stop id here. */
  readonly dropsStopToken: boolean
}

export interface SuffixQuery {
  /** Those that sampled ids account for; the last is the reply. */
  readonly inherited: readonly Message[]
  readonly added: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  /** The stop id that the reply ends in; null if it was cut. */
  readonly stopTokenId: number | null
  /** The reply was cut inside its reasoning. */
  readonly isReasoningOpen: boolean
}

export interface SuffixTemplateParts {
  /** Renders with the generation prompt. Throws `trajectory_template`. */
  readonly render: RenderStandIn
  readonly split: RenderedTextSplitter
  readonly stopTokenIds: readonly number[]
  /** `template`: no suffix where the template rewrites reasoning before the new messages. */
  readonly historyReasoning: HistoryReasoning
}

/** A stand-in conversation up to its reply, and the text that the reply was sampled behind. */
interface Beginning {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly promptText: string
}

export function createSuffixTemplate(parts: SuffixTemplateParts): (query: SuffixQuery) => Suffix | null {
  const chooseHead = createHeadChooser(parts.render)
  const beginnings = new WeakMap<StandInHead, Beginning | null>()
  const closings = new WeakMap<Beginning, string>()

  function beginningOf({ inherited, tools }: SuffixQuery): Beginning | null {
    const [first] = inherited
    const head = chooseHead({ system: first?.role === 'system' ? first : null, tools })
    const known = head.countsHistory ? undefined : beginnings.get(head)
    if (known !== undefined) return known
    const history = head.countsHistory
      ? skeletonOf(inherited.slice(first?.role === 'system' ? 1 : 0, -1))
      : [standInQuestion]
    const standIn = [...head.system, ...history]
    const promptText = renderOrNull(parts.render, { standIn, added: [], tools: head.tools })?.text
    const beginning = promptText === undefined ? null : { messages: standIn, tools: head.tools, promptText }
    if (!head.countsHistory) beginnings.set(head, beginning)
    return beginning
  }

  function closingOf(beginning: Beginning): string {
    const closing = closings.get(beginning) ?? reasoningClosing(beginning, parts) ?? ''
    closings.set(beginning, closing)
    return closing
  }

  return (query) => {
    const reply = query.inherited.at(-1)
    if (reply?.role !== 'assistant' || spellsControlToken(query.inherited, parts)) return null
    const beginning = beginningOf(query)
    if (beginning === null || !showsReasoning(reply, beginning, parts)) return null
    for (const standIn of standInReplies(reply, { hasReasoning: parts.historyReasoning === 'template' })) {
      const place = { beginning, reply: standIn, parts }
      const tail = tailAfterReply(query.added, place)
      if (tail === null) continue
      const stop = findStop(junctionOf(tail, parts), parts.stopTokenIds)
      const isSampledStop = stop !== null && stop.id === query.stopTokenId
      const start = isSampledStop ? stop.charEnd : turnEnd(tail, stop?.charStart ?? null, { ...place, query })
      if (start === null) continue
      const rest = sliceRendered(tail, start, tail.text.length)
      return {
        rendered: query.isReasoningOpen ? prependTemplateText(closingOf(beginning), rest) : rest,
        dropsStopToken: query.stopTokenId !== null && !isSampledStop,
      }
    }
    return null
  }
}

/** Names and ids of calls stand in the stand-in unmarked: one that spells a control token would become one. */
function spellsControlToken(inherited: readonly Message[], { split }: SuffixTemplateParts): boolean {
  const reply = inherited.at(-1)
  const calls = reply?.role === 'assistant' ? (reply.tool_calls ?? []) : []
  return calls.some((call) =>
    [call.function.name, call.id ?? ''].some((text) =>
      split({ text, valueSpans: [] }).segments.some((segment) => segment.kind === 'control'),
    ),
  )
}

interface Place {
  readonly beginning: Beginning
  readonly reply: AssistantMessage
  readonly parts: SuffixTemplateParts
}

function renderPlace({ beginning, reply, parts }: Place, added: readonly Message[]): RenderedText | null {
  const standIn = [...beginning.messages, reply]
  return renderOrNull(parts.render, { standIn, added, tools: beginning.tools })
}

/** What follows the reply's last value; null if what stands before it is not what stood there when it was sampled. */
function tailAfterReply(added: readonly Message[], place: Place): RenderedText | null {
  const rendered = renderPlace(place, added)
  const replyStart = rendered?.text.indexOf(replySentinel) ?? -1
  if (rendered === null || replyStart < 0) return null
  if (!keepsWhatStoodBefore(sliceRendered(rendered, 0, replyStart), place)) return null
  return sliceRendered(rendered, replyStart + replySentinel.length, rendered.text.length)
}

/**
 * Up to the question nothing may change. Behind it no new message may stand,
 * and what the template itself writes is reasoning, which only `template` mode
 * minds.
 */
function keepsWhatStoodBefore({ text: before, valueSpans }: RenderedText, place: Place): boolean {
  const { promptText } = place.beginning
  const questionEnd = promptText.lastIndexOf(questionSentinel) + questionSentinel.length
  if (!before.startsWith(promptText.slice(0, questionEnd)) || (valueSpans.at(-1) ?? 0) > questionEnd) return false
  if (place.parts.historyReasoning === 'keep') return true
  const alone = renderPlace(place, [])?.text
  return before.startsWith(promptText) && (alone === undefined || alone.startsWith(`${before}${replySentinel}`))
}

/**
 * In `template` mode, a template that leaves the reasoning of a reply out
 * rewrites every reply that has some. One that shows it in calls only rewrites
 * the calls before a text, too.
 */
function showsReasoning(reply: AssistantMessage, beginning: Beginning, parts: SuffixTemplateParts): boolean {
  if (parts.historyReasoning === 'keep') return true
  const shows = (shown: AssistantMessage): boolean =>
    standInReplies(shown, { hasReasoning: true }).some((standIn) =>
      renderPlace({ beginning, reply: standIn, parts }, [])?.text.includes(reasoningSentinel),
    )
  if (shows(reply)) return true
  const isText = (reply.tool_calls ?? []).length === 0
  return (reply.reasoning_content ?? '') === '' && !(isText && shows(standInCall(9)))
}

/**
 * What the template writes to end the reasoning of the latest reply, ahead of
 * what ends its turn; null if it shows no reasoning. Some show that of calls only.
 */
function reasoningClosing(beginning: Beginning, parts: SuffixTemplateParts): string | null {
  const tailBehind = (reply: AssistantMessage, sentinel: string): string | null => {
    const text = renderPlace({ beginning, reply, parts }, [])?.text ?? ''
    const start = text.indexOf(sentinel)
    return start < 0 ? null : text.slice(start + sentinel.length)
  }
  const closings = [{}, { tool_calls: standInCall(9).tool_calls ?? [] }].flatMap((calls) => {
    const thought: AssistantMessage = { role: 'assistant', content: '', reasoning_content: reasoningSentinel, ...calls }
    const reasoningTail = tailBehind(thought, reasoningSentinel)
    const textTail = tailBehind({ role: 'assistant', content: replySentinel, ...calls }, replySentinel)
    if (reasoningTail === null || textTail === null || !reasoningTail.endsWith(textTail)) return []
    return [reasoningTail.slice(0, reasoningTail.length - textTail.length)]
  })
  return closings[0] ?? null
}

/** The part of a tail that no new message wrote. */
function junctionOf(tail: RenderedText, { split }: SuffixTemplateParts): readonly RenderedSegment[] {
  const end = tail.valueSpans[0] ?? tail.text.length
  return split({ text: tail.text.slice(0, end), valueSpans: [] }).segments
}

function findStop(
  junction: readonly RenderedSegment[],
  stopTokenIds: readonly number[],
): { readonly id: number; readonly charStart: number; readonly charEnd: number } | null {
  let charStart = 0
  for (const segment of junction) {
    const charEnd = charStart + segment.text.length
    if (segment.kind === 'control' && stopTokenIds.includes(segment.id)) return { id: segment.id, charStart, charEnd }
    charStart = charEnd
  }
  return null
}

/** Where the suffix begins when the sampled stop id is not written, or there is none; null if that can't be told. */
function turnEnd(
  tail: RenderedText,
  stopStart: number | null,
  place: Place & { readonly query: SuffixQuery },
): number | null {
  const isText = (place.reply.tool_calls ?? []).length === 0
  const isCut = place.query.stopTokenId === null
  if (isText && (isCut || stopStart === null)) return 0
  return stopStart ?? callEnd(tail, place)
}

/**
 * Behind the closing marks of a call: where the template's text stops being the
 * same whatever comes next. Told only if it goes on with a control token.
 */
function callEnd(tail: RenderedText, place: Place): number | null {
  const junction = junctionOf(tail, place.parts)
  const followers: readonly (readonly Message[])[] = [[], [standInResult(9)], [{ role: 'user', content: 'text' }]]
  const agreements = followers.flatMap((added) => {
    const other = tailAfterReply(added, place)
    return other === null ? [] : [commonCharacters(junction, junctionOf(other, place.parts))]
  })
  const departures = agreements.flatMap((agreement) => agreement ?? [])
  return departures.length === 0 ? null : Math.min(...departures)
}

/** The length of the segments that both begin with; null if one begins with the other, or they part inside a text. */
function commonCharacters(left: readonly RenderedSegment[], right: readonly RenderedSegment[]): number | null {
  let length = 0
  for (const [index, segment] of left.entries()) {
    const other = right[index]
    if (other === undefined) return null
    if (other.text !== segment.text) return segment.kind === 'control' && other.kind === 'control' ? length : null
    length += segment.text.length
  }
  return null
}
