import { ValueError } from '@agentrl/spec'
import { percentiles } from './percentiles.ts'

/**
 * How far two log-probability streams over the same sampled tokens lie apart:
 * the rollout's, which sampled them, and the trainer's, computed anew. With
 * d = ln p_rollout − ln p_trainer at each trained token, all three estimate
 * KL(rollout ‖ trainer) from samples of the rollout:
 *
 *     k1  mean d                    unbiased, of either sign
 *     k2  mean d² / 2               biased, never negative, little variance
 *     k3  mean e^−d − 1 + d         unbiased, never negative
 *
 * −mean ln p_rollout estimates the entropy of the policy for each token.
 * Identical weights give 0 throughout; what is left is a mismatch of kernels,
 * precision or routing.
 *
 * Source: Schulman 2020, "Approximating KL divergence"; slime's
 * `compute_approx_kl` (624b824a) has the same three forms.
 */
export interface DivergenceStreams {
  /** ln p of the sampled ids as they were sampled; shape [T], ragged batches concatenated. */
  readonly rolloutLogprobs: Iterable<number>
  /** ln p of the same ids by the trainer; shape [T]. */
  readonly trainerLogprobs: Iterable<number>
  /** 1 where the token counts; shape [T]. Default: all. */
  readonly mask?: Iterable<number>
}

export interface Divergence {
  /** Tokens that count. */
  readonly tokenCount: number
  readonly k1: number
  readonly k2: number
  readonly k3: number
  /** In nats for each token. */
  readonly entropy: number
  /** |d|: mean and percentiles. */
  readonly gap: {
    readonly mean: number
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly max: number
  }
}

/**
 * The estimates over the tokens that the mask keeps; null when it keeps none.
 * Throws `value_invalid` for streams of different lengths, or a counted
 * log-probability that is not finite. A pair so far apart that e^−d overflows
 * gives an infinite k3, which is no number to hide.
 *
 * @example
 * divergence({ rolloutLogprobs: [-1, -2], trainerLogprobs: [-1, -1.5] })?.k1 // → -0.25
 */
export function divergence(streams: DivergenceStreams): Divergence | null {
  const rollout = [...streams.rolloutLogprobs]
  const trainer = [...streams.trainerLogprobs]
  const mask = streams.mask === undefined ? null : [...streams.mask]
  if (trainer.length !== rollout.length || (mask !== null && mask.length !== rollout.length)) {
    throw new ValueError(
      'value_invalid',
      `Streams have one length: rollout ${rollout.length}, trainer ${trainer.length}, mask ${mask?.length ?? 'none'}`,
    )
  }
  const kept = rollout.flatMap((logprob, token) =>
    mask === null || mask[token] !== 0 ? [{ logprob, difference: logprob - (trainer[token] as number), token }] : [],
  )
  const broken = kept.find(({ difference }) => !Number.isFinite(difference))
  if (broken !== undefined) {
    throw new ValueError(
      'value_invalid',
      `Log-probabilities are finite; token ${broken.token} has ${broken.logprob} and ${trainer[broken.token]}`,
      { details: { token: broken.token } },
    )
  }
  if (kept.length === 0) return null
  const mean = (of: (entry: { logprob: number; difference: number }) => number): number =>
    kept.reduce((sum, entry) => sum + of(entry), 0) / kept.length
  const gaps = kept.map(({ difference }) => Math.abs(difference))
  const [p50 = 0, p90 = 0, p99 = 0, max = 0] = percentiles(gaps, [50, 90, 99, 100])
  return {
    tokenCount: kept.length,
    k1: mean(({ difference }) => difference),
    k2: mean(({ difference }) => difference ** 2 / 2),
    k3: mean(({ difference }) => excess(difference)),
    entropy: mean(({ logprob }) => -logprob),
    gap: { mean: mean(({ difference }) => Math.abs(difference)), p50, p90, p99, max },
  }
}

/** e^−d − 1 + d; by its series near 0, where the terms of the formula cancel. */
function excess(difference: number): number {
  if (Math.abs(difference) > 0.5) return Math.expm1(-difference) + difference
  let term = difference ** 2 / 2
  let sum = 0
  for (let order = 3; sum + term !== sum; order += 1) {
    sum += term
    term *= -difference / order
  }
  return sum
}
