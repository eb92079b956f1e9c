const maxNames = 64
const maxNameLength = 64

/**
 * Counts of what happened, by code: repairs, drifts, ignored settings, retries.
 * Nothing is silent (law 5), and everything that is counted can be printed.
 */
export class Counters {
  readonly #counts = new Map<string, number>()
  readonly #named = new Map<string, Set<string>>()

  add(code: string, amount = 1): void {
    if (amount !== 0) this.#counts.set(code, (this.#counts.get(code) ?? 0) + amount)
  }

  /**
   * Counts under a name that somebody outside chose: `<group>.<name>`, without
   * what no code holds and cut to 64 characters; from the 65th name of a group
   * on under `<group>.other`, so that nobody fills the memory with names.
   */
  addNamed(group: string, name: string): void {
    const known = this.#named.get(group) ?? new Set()
    this.#named.set(group, known)
    const code = name.slice(0, maxNameLength).replace(/[^A-Za-z0-9_.:-]/g, '_')
    if (known.size < maxNames) known.add(code)
    this.add(`${group}.${known.has(code) ? code : 'other'}`)
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
