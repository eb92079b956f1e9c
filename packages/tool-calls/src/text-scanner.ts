import type { OpenerVerdict } from './dialect.ts'
import { needMore } from './source.ts'

/** Judges a marker by the text at `behind`, right behind it. */
export type Judge = (marker: string, window: string, behind: number) => OpenerVerdict

/** The deepest that a code fence may be indented, in a list for example. */
const maxIndent = 8
const maxFence = 64

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
  /** The same, by their first two characters. */
  readonly #markersByStart = new Map<number, readonly string[]>()
  /** Whether a character, modulo 128, may come first, or second. */
  readonly #first = new Uint8Array(128)
  readonly #second = new Uint8Array(128)
  readonly #judge: Judge
  /** Spaces between the last line break and the text to be scanned; -1 if there is more than spaces. */
  #indent = 0
  #lastCode = 10

  constructor(markers: readonly string[], judge: Judge) {
    this.#markers = markers
    this.#judge = judge
    for (const marker of markers) {
      const key = startKey(marker, 0)
      this.#markersByStart.set(key, [...(this.#markersByStart.get(key) ?? []), marker])
      this.#first[marker.charCodeAt(0) & 127] = 1
      this.#second[marker.charCodeAt(1) & 127] = 1
    }
    this.#first[96] = 1
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
    const last = window.length - 1
    for (let index = from; index <= last; index += 1) {
      const code = window.charCodeAt(index)
      if (this.#first[code & 127] === 0) continue
      if (code === 96) {
        const length = this.#readFence(window, from, index, isEnded)
        if (length === needMore || this.marker !== '') return index
        index += length - 1
      } else if (index < last && this.#second[window.charCodeAt(index + 1) & 127] === 0) {
        // No marker goes on like this.
      } else if (this.#matches(window, from, index, isEnded)) return index
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

  /** Whether a marker stands at a place, or may once more text has come. */
  #matches(window: string, from: number, index: number, isEnded: boolean): boolean {
    const left = window.length - index
    const candidates = left === 1 ? this.#markers : this.#markersByStart.get(startKey(window, index))
    if (candidates === undefined) return false
    for (const marker of candidates) {
      let length = 0
      while (length < marker.length && window.charCodeAt(index + length) === marker.charCodeAt(length)) length += 1
      if (length < marker.length) {
        if (length === left && !isEnded) return true
        continue
      }
      // Behind a backtick a marker is quoted.
      if ((index > from ? window.charCodeAt(index - 1) : this.#lastCode) === 96) continue
      const verdict = this.#judge(marker, window, index + length)
      if (verdict === 'more' && !isEnded) return true
      if (verdict === 'prose') continue
      this.marker = marker
      return true
    }
    return false
  }
}

/** The first two characters of what stands at a place. */
function startKey(text: string, index: number): number {
  return text.charCodeAt(index) * 0x10000 + text.charCodeAt(index + 1)
}
