import { seededRandom } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import type { ScriptedTurn, TurnEncoder } from './scripted-turn.ts'
import { seededHash } from './seeded-hash.ts'
import { splitNonCanonically } from './split-non-canonically.ts'

/**
 * Ids and log-probabilities of one answer of the stand-in.
 *
 * The distribution is the stand-in's own, and known. With c the probability of
 * the choice of the script, r the rate of non-canonical answers, s the
 * probability of the split among all places and ways, and n(i) in (0, 1/2) a
 * number hashed from seed, turn and position:
 *
 *     log p(id_0) = log c + log(1 - r) + log(1 - n(0))     a canonical answer
 *     log p(id_0) = log c + log r      + log(1 - n(0))     a split one …
 *     log p(id_k) = log s + log(1 - n(k))                  … at its first half k
 *     log p(id_i) = log(1 - n(i))                          everywhere else
 *
 * The sum over an answer is the logarithm of the probability that exactly these
 * ids are played, times that of a sampler which at each position lets n(i) of
 * the mass go to ids that are never drawn. All terms are below 0, and float32,
 * so that JSON carries them exactly. An answer in which nothing can be split is
 * canonical with probability 1.
 */

export interface SampledTurn {
  readonly ids: Int32Array
  readonly logprobs: Float32Array
  /** `encode(decode(ids))` gives other ids. */
  readonly isNonCanonical: boolean
  readonly finish: 'stop' | 'length'
}

/** A turn that never ends repeats this many of its last ids. */
const loopedTokens = 16

export async function sampleScriptedTurn(
  turn: ScriptedTurn,
  options: {
    readonly tokenizer: Tokenizer
    readonly encodeTurn: TurnEncoder
    /** What all random numbers are derived from. */
    readonly seedKey: string
    /** In [0, 1]. */
    readonly nonCanonicalRate: number
    /** An answer that never ends is at least this long; one that is longer is cut. At least 1. */
    readonly maxNewTokens: number
    /** The first of these ids ends the answer and is its last id. Holds the one that the encoder ends a turn with. */
    readonly stopTokenIds: ReadonlySet<number>
  },
): Promise<SampledTurn> {
  const { tokenizer, encodeTurn, seedKey, nonCanonicalRate, maxNewTokens, stopTokenIds } = options
  const canonical = await tokenizer.encode(encodeTurn(turn))
  const random = seededRandom(seededHash(seedKey, 'split'))
  const isDrawn = random() < nonCanonicalRate
  const split = splitNonCanonically(canonical, { tokenizer, random })
  const played = isDrawn && split !== null ? split.ids : canonical

  const end = played.findIndex((id) => stopTokenIds.has(id))
  const isEndless = turn.finish === 'length' || end < 0
  const whole = isEndless
    ? repeatEnd(played.slice(0, end < 0 ? undefined : end), maxNewTokens)
    : played.slice(0, end + 1)
  const ids = whole.slice(0, maxNewTokens)

  const logprobs = Float32Array.from(ids, (_, index) => {
    const noise = 0.0005 + 0.499 * seededRandom(seededHash(seedKey, 'noise', index))()
    return Math.log1p(-noise)
  })
  const multiply = (index: number, probability: number): void => {
    const logprob = logprobs[index]
    if (logprob !== undefined) logprobs[index] = logprob + Math.log(probability)
  }
  const isSplit = played !== canonical
  multiply(0, turn.probability ?? 1)
  if (split !== null) multiply(0, isSplit ? nonCanonicalRate : 1 - nonCanonicalRate)
  if (split !== null && isSplit) multiply(split.tokenStart, split.probability)
  return {
    ids,
    logprobs,
    isNonCanonical: !(await isCanonical(ids, tokenizer)),
    finish: isEndless || whole.length > maxNewTokens ? 'length' : 'stop',
  }
}

/** `ids` with their end repeated, at least `length` long if there are any. */
function repeatEnd(ids: Int32Array, length: number): Int32Array {
  const loop = ids.slice(-loopedTokens)
  return Int32Array.from(
    { length: ids.length === 0 ? 0 : Math.max(ids.length, length) },
    (_, index) => ids[index] ?? loop[(index - ids.length) % loop.length] ?? 0,
  )
}

async function isCanonical(ids: Int32Array, tokenizer: Tokenizer): Promise<boolean> {
  const again = await tokenizer.encode(await tokenizer.decode(ids))
  return again.length === ids.length && again.every((id, index) => id === ids[index])
}
