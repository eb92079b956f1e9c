import type { OpenerVerdict } from './dialect.ts'
import { needMore } from './source.ts'

/** Judges a marker by the text at `behind`, right behind it. */
export type Judge = (marker: string, window: string, behind: number) => OpenerVerdict

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
  readonly #markersByFirst: ReadonlyMap<number, readonly string[]>
  readonly #first: Uint8Array
  readonly #second: Uint8Array
  readonly #judge: Judge
  /** Whether only spaces stand between the last line break and the text to be scanned. */
  #isBlankLine = true
  #lastCode = 10

  constructor(markers: readonly string[], judge: Judge) {
    const byFirst = new Map<number, string[]>()
    this.#first = new Uint8Array(128)
    this.#second = new Uint8Array(128)
    for (const marker of markers) {
      const first = marker.charCodeAt(0)
      byFirst.set(first, [...(byFirst.get(first) ?? []), marker])
      if (first < 128) this.#first[first] = 1
      const second = marker.charCodeAt(1)
      if (second < 128) this.#second[second] = 1
    }
    this.#first[96] = 1
    this.#markersByFirst = byFirst
    this.#judge = judge
  }

  /** Forgets the line so far: something other than prose came between. */
  breakLine(): void {
    this.#isBlankLine = false
    this.#lastCode = 0
  }

  /**
   * The place of the next marker, fence that opens, or text that may become
   * one; the length of the window if there is none. `marker` says which.
   */
  find(window: string, from: number, isEnded: boolean): number {
    this.marker = ''
    const end = window.length
    let index = from
    for (; index < end; index += 1) {
      const code = window.charCodeAt(index)
      if (code < 128 ? this.#first[code] === 0 : !this.#markersByFirst.has(code)) continue
      if (code === 96) {
        const length = this.#readFence(window, from, index, isEnded)
        if (length === needMore) break
        if (this.marker !== '') break
        index += length - 1
        continue
      }
      if (index + 1 < end) {
        const next = window.charCodeAt(index + 1)
        if (next < 128 && this.#second[next] === 0) continue
      }
      if (this.#matches(window, from, index, isEnded)) break
    }
    return index
  }

  /** Says that the text in `[from, to)` is prose, and scanned. */
  consume(window: string, from: number, to: number): void {
    if (to === from) return
    this.#isBlankLine = this.#isLineStart(window, from, to)
    this.#lastCode = window.charCodeAt(to - 1)
  }

  /** Whether what was consumed ends with a line break, but for a few spaces. */
  get isAtLineStart(): boolean {
    return this.#isBlankLine
  }

  #isLineStart(window: string, from: number, index: number): boolean {
    let place = index
    while (place > from && index - place < 8 && window.charCodeAt(place - 1) === 32) place -= 1
    if (place > from) return window.charCodeAt(place - 1) === 10
    return this.#isBlankLine
  }

  /** Reads backticks: their number, or `needMore`. A fence that opens becomes the marker. */
  #readFence(window: string, from: number, index: number, isEnded: boolean): number {
    let end = index + 1
    while (end < window.length && end - index < 64 && window.charCodeAt(end) === 96) end += 1
    const length = end - index
    if (!this.#isLineStart(window, from, index)) return length
    if (end === window.length && !isEnded && length < 64) return needMore
    if (length < 3) return length
    if (this.fence === 0) {
      this.fence = length
      this.marker = '```'
    } else if (length >= this.fence) {
      const next = end < window.length ? window.charCodeAt(end) : 10
      if (next === 10 || next === 32 || next === 13) this.fence = 0
    }
    return length
  }

  #matches(window: string, from: number, index: number, isEnded: boolean): boolean {
    const left = window.length - index
    for (const marker of this.#markersByFirst.get(window.charCodeAt(index)) ?? []) {
      if (left < marker.length) {
        if (!isEnded && marker.startsWith(window.slice(index))) return true
        continue
      }
      if (!window.startsWith(marker, index)) continue
      const behind = index + marker.length
      if ((index > from ? window.charCodeAt(index - 1) : this.#lastCode) === 96) continue
      const verdict = this.#judge(marker, window, behind)
      if (verdict === 'more' && !isEnded) return true
      if (verdict === 'prose') continue
      this.marker = marker
      return true
    }
    return false
  }
}
