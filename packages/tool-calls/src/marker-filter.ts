/** The first characters that are looked at. */
const lookedAt = 3
/** One bit for each marker. */
const maxMarkers = 31

/**
 * Finds the places of a text where one of some markers may start, and says
 * which: a bit for each marker, and for each of the first three characters the
 * markers that may have it there. Three look-ups and two ands tell them apart.
 */
export class MarkerFilter {
  /** The markers that may start at the place that `next` gave: bit `n` for the marker of that index. */
  candidates = 0
  readonly #first = new Int32Array(128)
  readonly #second = new Int32Array(128)
  readonly #third = new Int32Array(128)
  /** The first character of all markers, where they share it: then the engine's own search is faster. */
  readonly #shared: string | null

  /** @param markers up to 31 texts of at least one character */
  constructor(markers: readonly string[]) {
    if (markers.length > maxMarkers) throw new RangeError(`${markers.length} markers are more than ${maxMarkers}`)
    const [any = ''] = markers
    this.#shared = markers.every((marker) => marker.charAt(0) === any.charAt(0)) ? any.charAt(0) : null
    const tables = [this.#first, this.#second, this.#third]
    for (let bit = 0; bit < markers.length; bit += 1) {
      const marker = markers[bit] ?? ''
      for (const [place, table] of tables.entries()) allow(table, marker.charCodeAt(place), 1 << bit)
    }
  }

  /** The next place where a marker may start; the length of the text if there is none. */
  next(text: string, from: number): number {
    const first = this.#first
    const second = this.#second
    const third = this.#third
    const shared = this.#shared
    const tail = text.length - (lookedAt - 1)
    for (let index = from; index < text.length; index += 1) {
      let candidates = first[text.charCodeAt(index) & 127] as number
      if (candidates === 0) {
        if (shared === null) continue
        index = text.indexOf(shared, index + 1)
        if (index < 0) break
        candidates = -1
      }
      if (index < tail) {
        candidates &= second[text.charCodeAt(index + 1) & 127] as number
        candidates &= third[text.charCodeAt(index + 2) & 127] as number
        if (candidates === 0) continue
      }
      this.candidates = this.at(text, index)
      if (this.candidates !== 0) return index
    }
    return text.length
  }

  /** The markers that may start at a place. */
  at(text: string, index: number): number {
    const last = text.length - 1
    let candidates = this.#first[text.charCodeAt(index) & 127] as number
    if (index < last) candidates &= this.#second[text.charCodeAt(index + 1) & 127] as number
    if (index + 1 < last) candidates &= this.#third[text.charCodeAt(index + 2) & 127] as number
    return candidates
  }
}

/** Allows a character, modulo 128, or any where the marker is over. */
function allow(table: Int32Array, code: number, bit: number): void {
  if (!Number.isNaN(code)) table[code & 127] = (table[code & 127] as number) | bit
  else for (let any = 0; any < table.length; any += 1) table[any] = (table[any] as number) | bit
}

/** The index of the lowest of some bits. */
export function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}

/** Whether the last character of a marker stands where it would: markers that share a start mostly do not share that. */
export function mayEnd(marker: string, text: string, index: number): boolean {
  const last = marker.length - 1
  return text.charCodeAt(index + last) === marker.charCodeAt(last)
}
