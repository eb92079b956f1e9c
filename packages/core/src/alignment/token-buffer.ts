/**
 * Growable storage for the tokens of a sample under construction: ids, loss
 * mask and log-probabilities side by side. Appending is amortised O(1) a token
 * and nothing is boxed.
 */
export class TokenBuffer {
  #ids = new Int32Array(0)
  #mask = new Uint8Array(0)
  #logprobs = new Float32Array(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The ids held, as a view of the storage: valid until the next append. */
  get ids(): Int32Array {
    return this.#ids.subarray(0, this.#length)
  }

  /** Appends ids that are not trained: mask 0, log-probability 0. */
  appendContext(ids: ArrayLike<number>): void {
    this.#reserve(ids.length)
    this.#ids.set(ids, this.#length)
    this.#length += ids.length
  }

  /** Appends sampled ids that are trained: mask 1 and the engine's log-probabilities. */
  appendTrained(ids: ArrayLike<number>, logprobs: ArrayLike<number>): void {
    this.#reserve(ids.length)
    this.#ids.set(ids, this.#length)
    this.#logprobs.set(logprobs, this.#length)
    this.#mask.fill(1, this.#length, this.#length + ids.length)
    this.#length += ids.length
  }

  /** Drops everything from position `length` on. */
  truncate(length: number): void {
    this.#mask.fill(0, length, this.#length)
    this.#logprobs.fill(0, length, this.#length)
    this.#length = length
  }

  /** Whether any position of [start, length) is trained. */
  hasTrained(start: number): boolean {
    return this.#mask.subarray(start, this.#length).includes(1)
  }

  /** Copies of [0, end) of the ids and of [start, end) of mask and log-probabilities. */
  slice(start: number, end: number): { tokens: Int32Array; lossMask: Uint8Array; logprobs: Float32Array } {
    return {
      tokens: this.#ids.slice(0, end),
      lossMask: this.#mask.slice(start, Math.max(start, end)),
      logprobs: this.#logprobs.slice(start, Math.max(start, end)),
    }
  }

  #reserve(extra: number): void {
    const needed = this.#length + extra
    if (needed <= this.#ids.length) return
    const capacity = Math.max(needed, this.#ids.length * 2)
    const ids = new Int32Array(capacity)
    const mask = new Uint8Array(capacity)
    const logprobs = new Float32Array(capacity)
    ids.set(this.ids)
    mask.set(this.#mask.subarray(0, this.#length))
    logprobs.set(this.#logprobs.subarray(0, this.#length))
    this.#ids = ids
    this.#mask = mask
    this.#logprobs = logprobs
  }
}
