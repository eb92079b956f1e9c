import { classifyTokens, type TokenDrift } from '../alignment/classify-tokens.ts'
import type { Departure } from '../alignment/drift-causes.ts'
import type { Explanation } from '../alignment/explain-request.ts'
import type { Counters } from '../counters.ts'
import type { TurnConversation } from './turn-context.ts'

/** Text of ids, for people. */
export type DecodeIds = (ids: Int32Array) => Promise<string>

/**
 * The departures of a session: each is counted, and the first of each cause is
 * kept with the place where it shows.
 */
export class DriftLog {
  readonly #counters: Counters
  readonly #examples = new Map<string, Departure>()

  constructor(counters: Counters) {
    this.#counters = counters
  }

  /** The first departure of each cause. */
  get examples(): readonly Departure[] {
    return [...this.#examples.values()]
  }

  /** Decodes ids only where they differ. */
  async add(
    { departure, absorbed, tokenDrift }: Explanation,
    { conversation, decode }: { readonly conversation: TurnConversation; readonly decode: DecodeIds },
  ): Promise<void> {
    if (absorbed !== null) this.#counters.add(`drift_absorbed.${absorbed.cause}`)
    if (departure !== null) this.count(departure)
    if (tokenDrift !== null) this.count(await describeTokens(tokenDrift, conversation, decode))
  }

  count(departure: Departure): void {
    this.#counters.add(`drift.${departure.cause}`)
    if (!this.#examples.has(departure.cause)) this.#examples.set(departure.cause, departure)
  }
}

async function describeTokens(
  drift: TokenDrift,
  { messages }: TurnConversation,
  decode: DecodeIds,
): Promise<Departure> {
  const texts = { held: await decode(drift.heldIds), found: await decode(drift.foundIds) }
  return classifyTokens(drift, texts, messages)
}
