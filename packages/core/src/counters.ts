/**
 * Counts of what happened, by code: repairs, drifts, ignored settings, retries.
 * Nothing is silent (law 5), and everything that is counted can be printed.
 */
export class Counters {
  readonly #counts = new Map<string, number>()

  add(code: string, amount = 1): void {
    if (amount !== 0) this.#counts.set(code, (this.#counts.get(code) ?? 0) + amount)
  }

  /** All counts that are not zero, sorted by code. */
  toJSON(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([left], [right]) => (left < right ? -1 : 1)))
  }
}

/** The sum of several counts. */
export function addCounts(all: Iterable<Readonly<Record<string, number>>>): Readonly<Record<string, number>> {
  const total = new Counters()
  for (const counts of all) for (const [code, amount] of Object.entries(counts)) total.add(code, amount)
  return total.toJSON()
}
