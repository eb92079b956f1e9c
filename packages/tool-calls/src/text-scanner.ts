import type { OpenerVerdict } from './dialect.ts'
import { needMore } from './source.ts'
import { StartFilter } from './start-filter.ts'

/** Judges a marker by the text at `behind`, right behind it. */
export type Judge = (marker: string, window: string, behind: number) => OpenerVerdict

/** The deepest that a code fence may be indented, in a list for example. */
const maxIndent = 8
const maxFence = 64
/** The longest marker. */
const maxMarkerLength = 64

/**
 * Finds the next place in prose that may be more than prose: a marker, or a
 * code fence. One look at each character; a marker is compared only where its
 * first two characters match.
 */
export class TextScanner {
  /** The marker found by `find`; empty where it found none. */
  marker = ''
  /** Backticks of the code fence that is open; 0 outside of one. */
  fence = 0
  /** Whether `find` stops at a fence that opens. */
  findsFences = false
  readonly #markers: readonly string[]
  readonly #filter: StartFilter
  readonly #judge: Judge
  /** Spaces between the last line break and the text to be scanned; -1 if there is more than spaces. */
  #indent = 0
  #lastCode = 10

  constructor(markers: readonly string[], judge: Judge) {
    this.#markers = markers
    this.#filter = new StartFilter([...markers, '```'])
    this.#judge = judge
  }

  /** Whether what was consumed ends with a line break, but for a few spaces. */
  get isAtLineStart(): boolean {
    return this.#indent >= 0
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
   * one; the length of the window if there is none. `marker` says which.
   */
  find(window: string, from: number, isEnded: boolean): number {
    this.marker = ''
    let index = this.#filter.next(window, from)
    while (index < window.length) {
      const isFence = window.charCodeAt(index) === 96
      const length = isFence
        ? this.#readFence(window, from, index, isEnded)
        : this.#readMarker(window, from, index, isEnded)
      if (length === needMore || this.marker !== '') return index
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
      this.fence = length
      if (this.findsFences) this.marker = '```'
    } else if (length >= this.fence) {
      const next = end < window.length ? window.charCodeAt(end) : 10
      if (next === 10 || next === 32 || next === 13) this.fence = 0
    }
    return length
  }

  /** Reads a marker: the length of what is prose, or `needMore`. One that may be more becomes the marker. */
  #readMarker(window: string, from: number, index: number, isEnded: boolean): number {
    const third = window.charCodeAt(index + 2)
    const isTail = !isEnded && window.length - index < maxMarkerLength
    for (let place = 0; place < this.#markers.length; place += 1) {
      const marker = this.#markers[place] ?? ''
      if (marker.length > 2 && third !== marker.charCodeAt(2) && !isTail) continue
      if (!window.startsWith(marker, index)) {
        if (isTail && marker.startsWith(window.slice(index))) return needMore
        continue
      }
      // Behind a backtick a marker is quoted.
      if ((index > from ? window.charCodeAt(index - 1) : this.#lastCode) === 96) return marker.length
      const verdict = this.#judge(marker, window, index + marker.length)
      if (verdict === 'prose') return marker.length
      if (verdict === 'more' && !isEnded) return needMore
      this.marker = marker
      return marker.length
    }
    return 1
  }
}
