import { isForeignSpace } from './json-scanner.ts'

/**
 * The output as it arrives: a window that only moves forward, and a region
 * that can be captured while it does.
 *
 *     consumed ......... | window: tail kept + newest chunk |
 *              ^ mark                ^ index
 *
 * A reader consumes by moving `index`. When it needs more it returns, and the
 * window becomes what was not consumed followed by the next chunk: a reader
 * that leaves only a bounded tail makes the whole parse linear, whatever the
 * chunks are. Text since the mark is kept in pieces and joined once.
 */
/** What a look at the next character says when there is none. */
export const atEnd = -1
/** What a look ahead says when it takes more text to tell. */
export const needMore = -2

export class Source {
  /** The text at hand. */
  window = ''
  /** The next character to read, in units of the window. */
  index = 0
  /** Whether no more text will come. */
  isEnded = false
  #furthest = 0
  /** How much text was, or will be, read again. */
  #rewound = 0
  /** How often text was taken for valid JSON that was not. */
  vainTries = 0
  /** Where the window starts in the output. */
  #windowStart = 0
  #markPosition = -1
  #codeBefore = 10
  #codeBeforeMark = 10
  #pieces: string[] = []
  /** Where each marker was found last, in the output, and from where to where it was looked for. */
  readonly #found = new Map<string, { from: number; at: number; until: number }>()

  /** Where `index` stands in the output. */
  get position(): number {
    return this.#windowStart + this.index
  }

  /** Where the window starts in the output. */
  get windowStart(): number {
    return this.#windowStart
  }

  /** Whether so much was read again that the work is not proportional to the text any more. */
  get isExhausted(): boolean {
    return this.#rewound > 2 * this.#furthest + 65_536
  }

  /** The character before `index`; a line break where the output starts. */
  get codeBefore(): number {
    return this.index > 0 ? this.window.charCodeAt(this.index - 1) : this.#codeBefore
  }

  /** Adds text behind what was not consumed. */
  push(chunk: string): void {
    if (this.index > 0) this.#codeBefore = this.window.charCodeAt(this.index - 1)
    if (this.#markPosition >= 0) this.#pieces.push(this.window.slice(this.#markIndex(), this.index))
    this.window = this.index === this.window.length ? chunk : this.window.slice(this.index) + chunk
    this.#windowStart += this.index
    this.index = 0
  }

  /** Starts capturing at `index`. */
  mark(): void {
    this.#markPosition = this.position
    this.#codeBeforeMark = this.codeBefore
    this.#pieces = []
  }

  /** The text from the mark to `index`. */
  captured(): string {
    const rest = this.window.slice(this.#markIndex(), this.index)
    return this.#pieces.length === 0 ? rest : this.#pieces.join('') + rest
  }

  /** Goes back to a position at or behind the mark. @param weight how much that counts: reading in vain counts twice */
  rewindTo(position: number, weight = 1): void {
    this.#furthest = Math.max(this.#furthest, this.position)
    this.#rewound += weight * Math.max(this.position - position, 0)
    if (position < this.#windowStart) {
      this.window = this.#pieces.join('') + this.window.slice(this.#markIndex())
      this.#windowStart = this.#markPosition
      this.#codeBefore = this.#codeBeforeMark
      this.#pieces = []
    }
    this.index = position - this.#windowStart
  }

  /** Skips white space, and gives the character behind it, `atEnd` or `needMore`. */
  skipSpace(): number {
    const { window } = this
    while (this.index < window.length) {
      const code = window.charCodeAt(this.index)
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9 && !isForeignSpace(code)) return code
      this.index += 1
    }
    return this.isEnded ? atEnd : needMore
  }

  /** Whether the text at `index` starts with a marker: its length if so, 0 if not, or `needMore`. */
  match(marker: string): number {
    const { window, index } = this
    if (window.startsWith(marker, index)) return marker.length
    if (this.isEnded || window.length - index >= marker.length) return 0
    return marker.startsWith(window.slice(index)) ? needMore : 0
  }

  /** The longest of some markers that the text at `index` starts with: its length, 0, or `needMore`. */
  matchAny(markers: readonly string[]): number {
    let longest = 0
    for (const marker of markers) {
      const length = this.match(marker)
      if (length === needMore) return needMore
      if (length > longest) longest = length
    }
    return longest
  }

  /** Whether the output ends with the beginning of a marker, at `index`. */
  endsWithin(markers: readonly string[]): boolean {
    const rest = this.isEnded ? this.window.slice(this.index, this.index + 64) : ''
    return rest.length > 0 && this.index + 64 > this.window.length && markers.some((marker) => marker.startsWith(rest))
  }

  /** Where a marker occurs next in the window; -1 if it does not. Looks at no text twice. */
  find(marker: string): number {
    const known = this.#found.get(marker)
    const end = this.#windowStart + this.window.length
    if (known !== undefined && known.from <= this.position) {
      if (known.at >= this.position) return known.at - this.#windowStart
      if (known.at < 0 && known.until === end) return -1
    }
    const found = this.window.indexOf(marker, this.index)
    const place = { from: this.position, at: found < 0 ? -1 : this.#windowStart + found, until: end }
    if (known === undefined) this.#found.set(marker, place)
    else Object.assign(known, place)
    return found
  }

  /** Goes behind the next occurrence of a marker and gives its place in the output, `atEnd` or `needMore`. */
  skipPast(marker: string): number {
    const found = this.find(marker)
    if (found >= 0) {
      this.index = found + marker.length
      return this.windowStart + found
    }
    this.index = this.isEnded ? this.window.length : Math.max(this.index, this.window.length - marker.length + 1)
    return this.isEnded ? atEnd : needMore
  }

  /** Where the mark stands in the window; 0 when it lies before it. */
  #markIndex(): number {
    return Math.max(this.#markPosition - this.#windowStart, 0)
  }
}
