import { isAgentRlError, type TokenIds } from '@agentrl/spec'
import { commonPrefixLength } from '../alignment/classify-drift.ts'
import { type CertifiedShape, certifiedShapes, replyReasoning } from './certify-shapes.ts'
import { concatenateIds } from './concatenate-ids.ts'
import { createRenderer, type RenderedSuffix, type Renderer, type RendererOptions } from './renderer.ts'
import type { Tokenizer } from './tokenizer.ts'

/**
 * Whether prompts of a tokenizer and a template can be inherited exactly.
 *
 *   rendered whole   prompt │ reply … stop │ new messages, generation prompt
 *   inherited        prompt ids ++ reply ids ++ suffix ids         must be the same ids
 *
 * The reply's ids are the canonical ones here, since only those can be compared
 * with a rendering; a model may sample others, and inheritance keeps them. Each
 * shape of conversation is tried with every stop id that the reply could have
 * ended in.
 *
 * A template may rewrite what stands before the reply (reasoning left out, tools
 * moved). Then there is nothing to be equal to, and what follows is compared
 * from the reply's end on, or the template is followed by rendering it whole.
 */
export type ShapeVerdict =
  /** Inherited ids are those of the whole rendering. */
  | 'exact'
  /** The template rewrites what stands before the reply, inheritance keeps it; what follows is the same. */
  | 'kept'
  /** The template rewrites what stands before the reply, and is followed: the turn opens a new sample. */
  | 'followed'
  /** The template fails on this conversation, or does not show what it is about. */
  | 'not_applicable'
  /** The template keeps what stands before the reply, yet no suffix could be found: rendered whole, a new sample. */
  | 'not_inherited'
  /** Inherited ids are others than those of the whole rendering. */
  | 'different'

/** The first place at which two token sequences part. */
export interface TokenDifference {
  /** How many ids they have in common. */
  readonly tokenStart: number
  /** The text around the place, decoded: of the whole rendering, and of what would be inherited. */
  readonly expected: string
  readonly found: string
}

export interface CertifiedCase {
  readonly shape: string
  readonly verdict: ShapeVerdict
  /** For a verdict that is not `exact`: why, for people. */
  readonly reason: string | null
  /** Where the whole rendering departs from the prompt, or inherited ids from the rendering; null if they don't. */
  readonly difference: TokenDifference | null
}

export interface TemplateCertificate {
  /** No case is `different` or `not_inherited`, and the template takes at least one. */
  readonly isExact: boolean
  readonly cases: readonly CertifiedCase[]
}

export interface CertifyOptions extends Omit<RendererOptions, 'cacheBytes' | 'controlTokensInContent'> {
  /** Ids that end an output; at least one. */
  readonly stopTokenIds: readonly number[]
}

/** Tries all shapes. Throws `trajectory_template` for a template that can't be compiled. */
export async function certifyTemplate(options: CertifyOptions): Promise<TemplateCertificate> {
  const { tokenizer, stopTokenIds } = options
  const renderer = createRenderer(options)
  const spelled = stopTokenIds.map((id) => tokenizer.idToToken(id) ?? '').join(' ')
  const cases: CertifiedCase[] = []
  const endings = new Map<string, string>()
  for (const shape of certifiedShapes(spelled)) {
    const outcome = await certifyShape(shape, { renderer, tokenizer, stopTokenIds, endings })
    cases.push({ shape: shape.name, reason: null, difference: null, ...outcome })
  }
  const isWrong = ({ verdict }: CertifiedCase): boolean => verdict === 'different' || verdict === 'not_inherited'
  const isTried = ({ verdict }: CertifiedCase): boolean => verdict !== 'not_applicable'
  return { isExact: !cases.some(isWrong) && cases.some(isTried), cases }
}

type Outcome = Pick<CertifiedCase, 'verdict'> & Partial<CertifiedCase>

interface CertifyParts {
  readonly renderer: Renderer
  readonly tokenizer: Tokenizer
  readonly stopTokenIds: readonly number[]
  /** What stands between the last value and the end of a reply, by its kind: the same in every shape. */
  readonly endings: Map<string, string>
}

async function certifyShape(shape: CertifiedShape, parts: CertifyParts): Promise<Outcome> {
  const plain = await renderPlace(shape, parts)
  if ('reason' in plain) return { verdict: 'not_applicable', reason: plain.reason }
  // A prompt may open reasoning; then a reply without any is one that the model can't give.
  const thoughtful = plain.isKept || shape.cut !== null ? plain : await renderPlace(withReasoning(shape), parts)
  return comparePlace('isKept' in thoughtful && thoughtful.isKept ? thoughtful : plain, parts)
}

function withReasoning(shape: CertifiedShape): CertifiedShape {
  return { ...shape, reply: { ...shape.reply, reasoning_content: replyReasoning } }
}

async function comparePlace(place: ComparedPlace, parts: CertifyParts): Promise<Outcome> {
  const { shape, whole, prompt, isKept } = place
  const { tokenizer } = parts
  let asUser = 0
  for (const stopTokenId of shape.cut === null ? parts.stopTokenIds : [null]) {
    const suffix = await suffixOf(shape, stopTokenId, parts)
    if (suffix === null && !isKept) {
      const difference = await differenceOf(whole, prompt, tokenizer)
      return { verdict: 'followed', reason: 'the template rewrites what stood there, and is followed', difference }
    }
    if (suffix === null && (await rewritesReasoning(shape, parts))) {
      return { verdict: 'followed', reason: 'the template would rewrite reasoning here, and is followed' }
    }
    if (suffix === null) return { verdict: 'not_inherited', reason: 'the end of the reply can not be told' }
    const difference = await compareSuffix(place, { suffix, stopTokenId }, parts)
    if (difference !== null) return { verdict: 'different', reason: stopReason(stopTokenId, tokenizer), difference }
    asUser = suffix.systemMessagesAsUser
  }
  if (isKept) return { verdict: 'exact', reason: asUser > 0 ? 'as a user message: the template refuses it' : null }
  const difference = await differenceOf(whole, prompt, tokenizer)
  return { verdict: 'kept', reason: 'the template rewrites what stood there; sampled ids stay', difference }
}

/** Whether this shape is one at which the template is followed, had the reply reasoned. */
async function rewritesReasoning(shape: CertifiedShape, parts: CertifyParts): Promise<boolean> {
  if (parts.renderer.historyReasoning === 'keep') return false
  const reasoned = await renderPlace(withReasoning(shape), parts)
  return 'isKept' in reasoned && !reasoned.isKept
}

/** The rendered conversation, or why the template has none. */
async function renderPlace(
  shape: CertifiedShape,
  { renderer, tokenizer }: CertifyParts,
): Promise<ComparedPlace | { readonly reason: string }> {
  const { before, reply, added, tools, lastValue } = shape
  try {
    const prompt = await renderer.renderPrompt({ messages: before, tools })
    const alone = await renderer.renderPrompt({ messages: [...before, reply], tools })
    const whole = await renderer.renderPrompt({ messages: [...before, reply, ...added], tools })
    const [promptText, aloneText, wholeText] = await Promise.all(
      [prompt, alone, whole].map(({ ids }) => tokenizer.decode(ids)),
    )
    if (promptText === undefined || aloneText === undefined || wholeText === undefined) throw new RangeError()
    const valueStart = wholeText.lastIndexOf(lastValue)
    if (valueStart < 0) return { reason: 'the template does not show the end of the reply' }
    const reasoning = reply.reasoning_content ?? ''
    // A template that never writes reasoning is no different for a model without; to follow it is to drop any.
    const isWritten = renderer.historyReasoning === 'template' || aloneText.includes(reasoning)
    const isStripped = isWritten && !wholeText.includes(reasoning)
    return {
      shape,
      prompt: prompt.ids,
      promptText,
      whole: whole.ids,
      wholeText,
      valueEnd: valueStart + lastValue.length,
      isKept: commonPrefixLength(whole.ids, prompt.ids) === prompt.ids.length && !isStripped,
    }
  } catch (error) {
    if (isAgentRlError(error) && error.code === 'trajectory_template') return { reason: error.message }
    throw error
  }
}

function suffixOf(
  { before, reply, added, tools, cut }: CertifiedShape,
  stopTokenId: number | null,
  { renderer }: CertifyParts,
): Promise<RenderedSuffix | null> {
  return renderer.renderSuffix({
    messages: [...before, reply, ...added],
    tools,
    inheritedMessages: before.length + 1,
    stopTokenId,
    isReasoningOpen: cut === 'reasoning',
  })
}

interface ComparedPlace {
  readonly shape: CertifiedShape
  readonly prompt: TokenIds
  readonly promptText: string
  readonly whole: TokenIds
  readonly wholeText: string
  /** Where the reply's last value ends in the whole text. */
  readonly valueEnd: number
  /** The whole rendering begins with the ids of the prompt, and has the reasoning of the reply. */
  readonly isKept: boolean
}

/**
 * Null if what is inherited is what is rendered. The reply is what lies between
 * prompt and suffix: its ending tells whether the suffix began at the right
 * place, its ids whether the parts join to the same ids. Where the template
 * rewrites what is before, both are compared from the reply's last value on.
 */
async function compareSuffix(
  place: ComparedPlace,
  { suffix, stopTokenId }: { readonly suffix: RenderedSuffix; readonly stopTokenId: number | null },
  { tokenizer, endings }: CertifyParts,
): Promise<TokenDifference | null> {
  const { shape, whole, wholeText, valueEnd } = place
  const suffixText = await tokenizer.decode(suffix.ids)
  if (!wholeText.slice(valueEnd).endsWith(suffixText)) return lastDifferenceOf(whole, suffix.ids, tokenizer)
  const isStopKept = stopTokenId !== null && !suffix.dropsStopToken
  const stop = isStopKept ? Int32Array.of(stopTokenId) : new Int32Array()
  const replyEnd = wholeText.length - suffixText.length - (await tokenizer.decode(stop)).length
  const ending = wholeText.slice(valueEnd, Math.max(valueEnd, replyEnd))
  const expectedEnding = endingOf(shape, ending, endings)
  if (ending !== expectedEnding) {
    return differenceOf(await tokenizer.encode(expectedEnding), await tokenizer.encode(ending), tokenizer)
  }
  const replyStart = place.isKept ? place.promptText.length : valueEnd
  const reply = await tokenizer.encode(wholeText.slice(replyStart, Math.max(valueEnd, replyEnd)))
  const before = place.isKept ? [place.prompt] : []
  const rendered = place.isKept ? whole : await idsFrom(whole, wholeText.slice(0, valueEnd), tokenizer)
  return differenceOf(rendered, concatenateIds([...before, reply, stop, suffix.ids]), tokenizer)
}

/** How a reply of this kind ends: at once where it was cut, else as it did the first time. */
function endingOf({ reply, cut }: CertifiedShape, ending: string, endings: Map<string, string>): string {
  if (cut !== null) return ''
  const kind = reply.tool_calls === undefined ? 'text' : 'call'
  const known = endings.get(kind) ?? (kind === 'text' ? ending.replace(/\S.*$/s, '') : ending)
  endings.set(kind, known)
  return known
}

/** The ids behind those of a text that a rendering begins with. */
async function idsFrom(whole: TokenIds, before: string, tokenizer: Tokenizer): Promise<TokenIds> {
  let low = 0
  let high = whole.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((await tokenizer.decode(whole.slice(0, middle))).length < before.length) low = middle + 1
    else high = middle
  }
  return whole.slice(low)
}

const contextTokens = 12

async function differenceOf(
  expected: TokenIds,
  found: TokenIds,
  tokenizer: Tokenizer,
): Promise<TokenDifference | null> {
  const limit = Math.max(expected.length, found.length)
  let tokenStart = 0
  while (tokenStart < limit && expected[tokenStart] === found[tokenStart]) tokenStart += 1
  if (tokenStart === limit) return null
  const around = (ids: TokenIds): Promise<string> =>
    tokenizer.decode(ids.slice(Math.max(0, tokenStart - contextTokens), tokenStart + contextTokens))
  return { tokenStart, expected: await around(expected), found: await around(found) }
}

/** The last place at which two sequences that end together part. */
async function lastDifferenceOf(whole: TokenIds, suffix: TokenIds, tokenizer: Tokenizer): Promise<TokenDifference> {
  let common = 0
  while (common < suffix.length && whole.at(-1 - common) === suffix.at(-1 - common)) common += 1
  const around = (ids: TokenIds): Promise<string> => {
    const end = ids.length - common
    return tokenizer.decode(ids.slice(Math.max(0, end - contextTokens), end + contextTokens))
  }
  return { tokenStart: whole.length - common, expected: await around(whole), found: await around(suffix) }
}

function stopReason(stopTokenId: number | null, tokenizer: Tokenizer): string {
  return stopTokenId === null
    ? 'after a reply that was cut'
    : `after a reply that ends in ${tokenizer.idToToken(stopTokenId) ?? stopTokenId}`
}
