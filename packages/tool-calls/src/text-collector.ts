/**
 * Text that comes in pieces, without the white space around it: what leads is
 * dropped, what trails is held back until more text follows.
 */
export class TextCollector {
  readonly #parts: string[] = []
  readonly #emit: (text: string) => void
  #held = ''

  constructor(emit: (text: string) => void) {
    this.#emit = emit
  }

  /** How much is held back. */
  get heldLength(): number {
    return this.#held.length
  }

  /** How many pieces were said; white space alone is none. */
  get pieceCount(): number {
    return this.#parts.length
  }

  add(text: string): void {
    const last = text.charCodeAt(text.length - 1)
    const end = last > 32 && last < 127 ? text.length : text.trimEnd().length
    if (end > 0) {
      const solid = this.#held + (end < text.length ? text.slice(0, end) : text)
      const part = this.#parts.length === 0 ? solid.trimStart() : solid
      this.#held = ''
      this.#parts.push(part)
      this.#emit(part)
    }
    if (end < text.length) this.hold(text.slice(end))
  }

  /** Adds text that counts only if more follows. */
  hold(text: string): void {
    this.#held += text
  }

  /** Everything that was said. */
  toString(): string {
    return this.#parts.join('')
  }
}
