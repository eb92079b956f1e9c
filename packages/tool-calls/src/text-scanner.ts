import type { LateOpener, OpenerVerdict } from './dialect.ts'
import { lowestBit, MarkerFilter, mayEnd } from './marker-filter.ts'
import { needMore } from './source.ts'

/** What a marker is in prose. */
export type MarkerKind = 'opener' | 'closer' | 'end-token' | 'reasoning-open' | 'reasoning-close'

/** A marker to be found. */
export interface Marker {
  readonly text: string
  readonly kind: MarkerKind
  /** What tells where it starts, if that is not where it stands. */
  readonly late?: LateOpener
}

/** Markers of one kind. */
export function markersOf(kind: MarkerKind, texts: readonly string[]): Marker[] {
  return texts.map((text) => ({ kind, text }))
}

/** Judges a marker by the text at `behind`, right behind it. What is scanned begins at `from`. */
export type Judge = (marker: Marker, window: string, behind: number, from: number) => OpenerVerdict

/** Judges a code fence that opens, by the text at `behind`, right behind its backticks. */
export type FenceJudge = (window: string, behind: number, isEnded: boolean) => OpenerVerdict

/** The deepest that a code fence may be indented, in a list for example. */
const maxIndent = 8
const maxFence = 64
/** The longest marker. */
const maxMarkerLength = 64

/**
 * Finds the next place in prose that may be more than prose: a marker, or a
 * code fence. One look at each character; a marker is compared only where its
 * first three characters and its last one match.
 */
export class TextScanner {
  /** What `find` found: a marker, a fence that opens, or nothing. */
  found: Marker | 'fence' | null = null
  /** Backticks of the code fence that is open; 0 outside of one. */
  fence = 0
  readonly #markers: readonly Marker[]
  readonly #filter: MarkerFilter
  readonly #judge: Judge
  readonly #judgeFence: FenceJudge
  readonly #late: LateOpener | undefined
  #foundAt = 0
  /** Spaces between the last line break and the text to be scanned; -1 if there is more than spaces. */
  #indent = 0
  #lastCode = 10

  /** @param judgeFence `find` stops at a fence that it does not call prose */
  constructor(markers: readonly Marker[], judge: Judge, judgeFence: FenceJudge) {
    this.#markers = markers
    this.#filter = new MarkerFilter([...markers.map(({ text }) => text), '```'])
    this.#judge = judge
    this.#judgeFence = judgeFence
    this.#late = markers.find(({ late }) => late !== undefined)?.late
  }

  /** Whether what was consumed ends with a line break, but for a few spaces. */
  get isAtLineStart(): boolean {
    return this.#indent >= 0
  }

  /** Whether a place in text that is scanned from `from` on stands behind a line break, but for a few spaces. */
  isLineStart(window: string, from: number, index: number): boolean {
    return this.#indentAt(window, from, index) >= 0
  }

  /** Forgets all: other prose begins. */
  restart(): void {
    this.fence = 0
    this.breakLine()
  }

  /** Forgets the line so far: something other than prose came between. */
  breakLine(): void {
    this.#indent = -1
    this.#lastCode = 0
  }

  /**
   * The place of the next marker, fence that opens, or text that may become
   * one; the length of the window if there is none. `found` says which.
   */
  find(window: string, from: number, isEnded: boolean): number {
    this.found = null
    const place = this.#scan(window, from, isEnded)
    if (this.found !== null) return this.#foundAt
    return isEnded || this.#late === undefined ? place : Math.min(place, this.#late.tailStart(window, from))
  }

  #scan(window: string, from: number, isEnded: boolean): number {
    let index = this.#filter.next(window, from)
    while (index < window.length) {
      const isFence = window.charCodeAt(index) === 96
      const length = isFence
        ? this.#readFence(window, from, index, isEnded)
        : this.#readMarker(window, from, index, isEnded)
      if (length === needMore || this.found !== null) return index
      index = this.#filter.next(window, index + length)
    }
    return window.length
  }

  /** Says that the text in `[from, to)` is prose, and scanned. */
  consume(window: string, from: number, to: number): void {
    if (to === from) return
    this.#indent = this.#indentAt(window, from, to)
    this.#lastCode = window.charCodeAt(to - 1)
  }

  #indentAt(window: string, from: number, index: number): number {
    let place = index
    while (place > from && index - place <= maxIndent && window.charCodeAt(place - 1) === 32) place -= 1
    if (place > from) return window.charCodeAt(place - 1) === 10 ? index - place : -1
    return this.#indent < 0 || this.#indent + index - from > maxIndent ? -1 : this.#indent + index - from
  }

  /** Reads backticks: their number, or `needMore`. A fence that opens becomes the marker. */
  #readFence(window: string, from: number, index: number, isEnded: boolean): number {
    let end = index + 1
    while (end < window.length && end - index < maxFence && window.charCodeAt(end) === 96) end += 1
    const length = end - index
    if (this.#indentAt(window, from, index) < 0) return length
    if (end === window.length && !isEnded && length < maxFence) return needMore
    if (length < 3) return length
    if (this.fence === 0) {
      const verdict = this.#judgeFence(window, end, isEnded)
      if (verdict === 'more') return needMore
      this.fence = length
      if (verdict === 'open') this.#take('fence', index)
    } else if (length >= this.fence) {
      const next = end < window.length ? window.charCodeAt(end) : 10
      if (next === 10 || next === 32 || next === 13) this.fence = 0
    }
    return length
  }

  /** Reads a marker: the length of what is prose, or `needMore`. One that may be more becomes the marker. */
  #readMarker(window: string, from: number, index: number, isEnded: boolean): number {
    const isTail = !isEnded && window.length - index < maxMarkerLength
    for (let left = this.#filter.candidates; left !== 0; left &= left - 1) {
      const marker = this.#markers[lowestBit(left)]
      if (marker === undefined) break
      const { text } = marker
      // For one character that says all.
      if ((!isTail || text.length === 1) && !mayEnd(text, window, index)) continue
      if (text.length > 1 && !window.startsWith(text, index)) {
        if (isTail && text.startsWith(window.slice(index))) return needMore
        continue
      }
      const start = marker.late === undefined ? index : marker.late.startOf(window, from, index)
      // Behind a backtick a marker is quoted.
      const before = start > from ? window.charCodeAt(start - 1) : this.#lastCode
      if (start < 0 || before === 96) return text.length
      const verdict = this.#judge(marker, window, index + text.length, from)
      if (verdict === 'prose') return text.length
      if (verdict === 'more' && !isEnded) return needMore
      this.#take(marker, start)
      return text.length
    }
    return 1
  }

  #take(found: Marker | 'fence', index: number): void {
    this.found = found
    this.#foundAt = index
  }
}
