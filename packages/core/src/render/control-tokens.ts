import type { RenderedText } from './chat-template.ts'
import type { AddedToken } from './tokenizer.ts'

/**
 * Control tokens and the text between them.
 *
 * A tool result that holds `<|im_end|>` must not end a turn. Values are marked
 * when they are converted (`toTemplateValue(…, { isMarked: true })`), the
 * interpreter carries the marks through everything a template does, and here an
 * added token counts as a control token only where the template itself wrote
 * every character of it. What a value writes, and what a value and the template
 * write together (`<|im_` from a file name and `end|>` after it), is text.
 *
 * Why marks and not a placeholder put into the values: the template sees the
 * true values, so `startswith('<tool_response>')`, `split('</think>')`, `strip`
 * and lengths decide as they do in Python and the rendered text is the same,
 * byte for byte; nothing has to be taken out again; and a token that a template
 * glues together from two values is caught too. The cost is one span list for
 * each marked string.
 *
 * Where it stops: a template that copies a value's characters one by one into a
 * literal of its own can't be told from one that wrote it (none does); which
 * turns a template drops or rewrites because of a value's text is the
 * template's decision in both modes; escapes made by `tojson` count as value.
 */
export type RenderedSegment =
  | { readonly kind: 'control'; readonly id: number; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }

export interface SplitText {
  /** Their texts in a row are the rendered text; no two text segments in a row, none is empty. */
  readonly segments: readonly RenderedSegment[]
  /** Added tokens spelled out in the text that are no control tokens, because a value wrote some of it. */
  readonly protectedOccurrences: number
}

export type RenderedTextSplitter = (rendered: RenderedText) => SplitText

/** A splitter for one vocabulary; keep it, making it costs as much as the list of tokens is long. */
export function createRenderedTextSplitter(addedTokens: readonly AddedToken[]): RenderedTextSplitter {
  const root = buildTrie(addedTokens)
  const starts = startPattern(addedTokens)
  return (rendered) => split(rendered, root, starts)
}

/** Splits once; see `createRenderedTextSplitter`. Linear in the text. */
export function splitRendered(rendered: RenderedText, addedTokens: readonly AddedToken[]): SplitText {
  return createRenderedTextSplitter(addedTokens)(rendered)
}

interface TrieNode {
  readonly next: Map<string, TrieNode>
  token: AddedToken | null
}

function buildTrie(addedTokens: readonly AddedToken[]): TrieNode {
  const root: TrieNode = { next: new Map(), token: null }
  for (const token of addedTokens) {
    if (token.content === '') continue
    let node = root
    for (const unit of token.content.split('')) {
      const known = node.next.get(unit) ?? { next: new Map(), token: null }
      node.next.set(unit, known)
      node = known
    }
    node.token = token
  }
  return root
}

/** Any unit that a token starts with; null without tokens. */
function startPattern(addedTokens: readonly AddedToken[]): RegExp | null {
  const units = new Set(addedTokens.flatMap(({ content }) => (content === '' ? [] : [content.charCodeAt(0)])))
  if (units.size === 0) return null
  return new RegExp(`[${[...units].map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}]`, 'g')
}

/** The longest token that starts at a place, as the Rust tokenizer matches; null if there is none. */
function longestToken(root: TrieNode, text: string, start: number): AddedToken | null {
  let node: TrieNode | undefined = root
  let found: AddedToken | null = null
  for (let index = start; index < text.length; index += 1) {
    node = node.next.get(text[index] ?? '')
    if (node === undefined) return found
    found = node.token ?? found
  }
  return found
}

function split({ text, valueSpans }: RenderedText, root: TrieNode, starts: RegExp | null): SplitText {
  const segments: RenderedSegment[] = []
  const origin = new Origin(valueSpans)
  let protectedOccurrences = 0
  let done = 0
  const takeText = (end: number): void => {
    if (end > done) segments.push({ kind: 'text', text: text.slice(done, end) })
  }
  let index = nextStart(starts, text, 0)
  while (index !== -1) {
    const found = longestToken(root, text, index)
    let after = index + 1
    if (found !== null && origin.isTemplate(index, index + found.content.length)) {
      after = index + found.content.length
      takeText(index)
      segments.push({ kind: 'control', id: found.id, text: found.content })
      done = after
    } else if (found !== null) protectedOccurrences += 1
    index = nextStart(starts, text, after)
  }
  takeText(text.length)
  return { segments, protectedOccurrences }
}

function nextStart(starts: RegExp | null, text: string, from: number): number {
  if (starts === null) return -1
  starts.lastIndex = from
  return starts.exec(text)?.index ?? -1
}

/** Answers whether a stretch holds no character of a value; asked in ascending order. */
class Origin {
  private readonly spans: readonly number[]
  private position = 0

  constructor(spans: readonly number[]) {
    this.spans = spans
  }
  isTemplate(start: number, end: number): boolean {
    while (this.position < this.spans.length && (this.spans[this.position + 1] ?? 0) <= start) this.position += 2
    const next = this.spans[this.position]
    return next === undefined || next >= end
  }
}
