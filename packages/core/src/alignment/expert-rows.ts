import type { RoutedExperts } from '@agentrl/spec'

/**
 * Which experts routed the tokens of one sequence, stitched from the turns that
 * made it: a row of [layers, topK] for each position, from position 0 on
 * without a gap.
 *
 *   turn 1   ├──────────────┤                 rows of its prompt and output but the last id
 *   turn 2                  ├──────────┤      from the last id of turn 1 on
 *   rows     ├─────────────────────────┤
 *
 * The row of a position depends on the tokens up to it, so rows that stand are
 * kept when a later turn has them too: they are those of the time of sampling.
 * A sequence of T tokens needs T − 1 rows: its last token was never an input.
 */
export class ExpertRows {
  #layers = 0
  #topK = 0
  #indices = new Int32Array(0)
  #rows = 0

  /** Rows that stand, from position 0 on. */
  get rows(): number {
    return this.#rows
  }

  /** Drops the rows from a position on. */
  truncate(position: number): void {
    this.#rows = Math.min(this.#rows, position)
  }

  /** Adds rows. Those that stand are kept; what lies behind a gap, or has another shape, is left out. Amortised linear. */
  write(experts: RoutedExperts | undefined): void {
    if (experts === undefined || experts.positionStart > this.#rows) return
    if (this.#rows === 0) {
      this.#layers = experts.layers
      this.#topK = experts.topK
    } else if (experts.layers !== this.#layers || experts.topK !== this.#topK) return
    const width = this.#width
    const rowEnd = experts.positionStart + Math.floor(experts.indices.length / width)
    if (rowEnd <= this.#rows) return
    this.#reserve(rowEnd * width)
    const skipped = (this.#rows - experts.positionStart) * width
    this.#indices.set(experts.indices.subarray(skipped, (rowEnd - experts.positionStart) * width), this.#rows * width)
    this.#rows = rowEnd
  }

  /** The first rows as one array, a view of the storage: valid until the next write. Null: they are not all known. */
  first(rows: number): RoutedExperts | null {
    if (rows <= 0 || rows > this.#rows) return null
    return {
      positionStart: 0,
      layers: this.#layers,
      topK: this.#topK,
      indices: this.#indices.subarray(0, rows * this.#width),
    }
  }

  get #width(): number {
    return this.#layers * this.#topK
  }

  #reserve(length: number): void {
    if (length <= this.#indices.length) return
    const grown = new Int32Array(Math.max(length, this.#indices.length * 2))
    grown.set(this.#indices.subarray(0, this.#rows * this.#width))
    this.#indices = grown
  }
}
