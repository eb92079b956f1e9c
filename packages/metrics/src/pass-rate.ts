import { ValueError } from '@agentrl/spec'
import { type AttemptRows, collectAttempts } from './attempts.ts'
import { passAtK } from './pass-at-k.ts'
import type { Problem } from './problem.ts'

/** Estimates by the number of attempts: `{ 'pass@1': 0.25, 'pass@2': 0.4 }`. */
export type PassRates = Readonly<Record<`pass@${number}`, number>>

export interface PassRateOptions {
  /** Attempts asked for at each prompt; at least 1. Rates go up to this k. */
  readonly groupSize: number
  /** What counts as solved. Default: a reward of exactly 1, as slime counts. */
  readonly isPass?: (reward: number) => boolean
}

export interface GroupedPassRateOptions extends PassRateOptions {
  /**
   * A null reward (no grade because of infrastructure): `leave-out` takes the
   * attempt out of n; `count-as-failed` is the second, pessimistic figure.
   * Default `leave-out`.
   */
  readonly nullReward?: 'leave-out' | 'count-as-failed'
}

/**
 * pass@1, pass@2, pass@4 … up to `groupSize`, each the mean over the groups
 * that have at least k attempts; a k that no group reaches is left out. The
 * segments of one attempt count once; groups may differ in size.
 *
 * Throws `value_invalid` for columns of different lengths, a reward that is not
 * finite, an attempt whose rows disagree about its reward, or a group size
 * below 1.
 *
 * @example
 * groupedPassRate({ rewards: [1, 1, 0, 0], groupIds: [0, 0, 0, 1], rolloutIds: [0, 0, 1, 2], groupSize: 2 })
 * // → { 'pass@1': 0.25, 'pass@2': 1 }
 * // group 0 has two attempts, group 1 has one
 */
export function groupedPassRate(options: AttemptRows & GroupedPassRateOptions): PassRates {
  const { groupSize, isPass = isExactlyOne, nullReward = 'leave-out' } = options
  checkGroupSize(groupSize)
  const counts = collectAttempts(options).map(({ attempts }) => {
    const graded = attempts.flatMap(({ reward }) => (reward === null ? [] : [reward]))
    const n = nullReward === 'leave-out' ? graded.length : attempts.length
    return { n, c: graded.filter(isPass).length }
  })
  return ratesOf(counts, groupSize)
}

/** The result of `passRate`: rates, or why there are none. */
export type PassRateResult =
  | { readonly kind: 'rates'; readonly rates: PassRates }
  | { readonly kind: 'problem'; readonly problem: Problem }

/**
 * The pass rates of a batch of fixed shape: rewards_P_G flattened, P groups of
 * exactly `groupSize` attempts, one row each. Rewards that don't divide into
 * groups are a problem of code `pass_rate_shape`, which the caller logs at
 * error level: fan-out does that, and `groupedPassRate` is the answer to it.
 *
 * @example
 * passRate({ rewards: [1, 0, 0, 0], groupSize: 2 }) // → { kind: 'rates', rates: { 'pass@1': 0.25, 'pass@2': 0.5 } }
 */
export function passRate(options: PassRateOptions & { readonly rewards: readonly (number | null)[] }): PassRateResult {
  const { rewards, groupSize, isPass = isExactlyOne } = options
  checkGroupSize(groupSize)
  const groupCount = Math.floor(rewards.length / groupSize)
  if (rewards.length === 0 || groupCount * groupSize !== rewards.length) {
    return {
      kind: 'problem',
      problem: {
        code: 'pass_rate_shape',
        severity: 'error',
        message: `Expected groups of ${groupSize} attempts, found ${rewards.length} rewards; use groupedPassRate where attempts fan out`,
        details: { rewards: rewards.length, groupSize },
      },
    }
  }
  const rates = groupedPassRate({
    rewards,
    groupIds: rewards.map((_, row) => Math.floor(row / groupSize)),
    groupSize,
    isPass,
  })
  return { kind: 'rates', rates }
}

function isExactlyOne(reward: number): boolean {
  return reward === 1
}

function checkGroupSize(groupSize: number): void {
  if (Number.isInteger(groupSize) && groupSize >= 1) return
  throw new ValueError('value_invalid', `A group size is an integer of at least 1, found ${groupSize}`, {
    details: { groupSize },
  })
}

function ratesOf(counts: readonly { n: number; c: number }[], groupSize: number): PassRates {
  const rates: Record<`pass@${number}`, number> = {}
  for (let k = 1; k <= groupSize; k *= 2) {
    const reaching = counts.filter(({ n }) => n >= k)
    if (reaching.length === 0) continue
    rates[`pass@${k}`] = reaching.reduce((sum, { n, c }) => sum + passAtK(n, c, k), 0) / reaching.length
  }
  return rates
}
