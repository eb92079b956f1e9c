const first = 1
const second = 2
const third = 4

/**
 * Tells at the cost of three look-ups that none of some markers starts at a
 * place: most places that share a first character with one share no more.
 */
export class StartFilter {
  /** By character, modulo 128: at which of the first three places of a marker it may stand. */
  readonly #places = new Uint8Array(128)
  /** The first character of all markers, where they share it: then the engine's own search is faster. */
  readonly #shared: string | null

  /** @param markers texts of at least one character */
  constructor(markers: readonly string[]) {
    const [any = ''] = markers
    this.#shared = markers.every((marker) => marker.charAt(0) === any.charAt(0)) ? any.charAt(0) : null
    for (const marker of markers) {
      this.#allow(first, marker.charCodeAt(0))
      this.#allow(second, marker.length > 1 ? marker.charCodeAt(1) : null)
      this.#allow(third, marker.length > 2 ? marker.charCodeAt(2) : null)
    }
  }

  /** The next place where a marker may start; the length of the text if there is none. */
  next(text: string, from: number): number {
    const last = text.length - 1
    for (let index = from; index <= last; index += 1) {
      if (((this.#places[text.charCodeAt(index) & 127] ?? 0) & first) === 0) {
        if (this.#shared === null) continue
        index = text.indexOf(this.#shared, index + 1)
        if (index < 0) return text.length
      }
      if (index < last && ((this.#places[text.charCodeAt(index + 1) & 127] ?? 0) & second) === 0) continue
      if (index + 1 < last && ((this.#places[text.charCodeAt(index + 2) & 127] ?? 0) & third) === 0) continue
      return index
    }
    return text.length
  }

  /** Allows a character, or any, at a place. */
  #allow(place: number, code: number | null): void {
    if (code !== null) this.#places[code & 127] = (this.#places[code & 127] ?? 0) | place
    else for (let any = 0; any < 128; any += 1) this.#places[any] = (this.#places[any] ?? 0) | place
  }
}
