import { unreachable, ValueError } from '@agentrl/spec'
import { below, improveBins } from './improve-bins.ts'
import { karmarkarKarp } from './karmarkar-karp.ts'
import { peakLowerBound } from './peak-lower-bound.ts'
import { repackLpt } from './repack-lpt.ts'
import { repartition, repartitionSize } from './repartition.ts'
import { peakOf } from './weights.ts'

/**
 * Samples into a given number of bins, the fullest as light as can be.
 *
 *     lpt             longest first into the least loaded bin; the order that trainers record
 *     karmarkar-karp  largest differencing; nearly even loads when there are many samples
 *     best            the better of the two, then local search, then (for up to 24
 *                     samples) a proof or a better packing by bin completion
 *
 * `best` is never worse than either of the others.
 */
export type PackStrategy = 'lpt' | 'karmarkar-karp' | 'best'

export interface PackBalancedOptions {
  /** Default `best`. */
  readonly strategy?: PackStrategy
  /**
   * `best` is exact up to this many samples: 0 to 24; 0 leaves the exact step
   * out. Default 24.
   */
  readonly exactUpTo?: number
  /** Repartitions of two to four bins that `best` may try; at least 0. Default 6000, about a second at most. */
  readonly effort?: number
  /** Seed of the kicks of `best`. Default 1. */
  readonly seed?: number
}

export interface BalancedPacking {
  /** `binCount` bins of sample indices. */
  readonly bins: readonly (readonly number[])[]
  /** Weight of the fullest bin. */
  readonly peak: number
  /** No packing has a lower peak than this. */
  readonly lowerBound: number
  /** The peak is proved to be the lowest. False means not proved. */
  readonly isOptimal: boolean
}

/** Sets that the exact step looks at before it gives up its proof. */
const exactBudget = 2_000_000

/**
 * A packing and how far it is from the best possible. `weights` are token
 * counts, or what a cost model makes of them. Throws `value_invalid` for a
 * weight that is negative or not finite, a bin count below 1, or an option out
 * of range.
 *
 * @example
 * packBalanced([8, 7, 6, 5, 4], 2)
 * // → { bins: [[0, 1], [2, 3, 4]], peak: 15, lowerBound: 15, isOptimal: true }
 */
export function packBalanced(
  weights: readonly number[],
  binCount: number,
  options: PackBalancedOptions = {},
): BalancedPacking {
  const { strategy = 'best' } = options
  const lowerBound = peakLowerBound(weights, binCount)
  switch (strategy) {
    case 'lpt':
      return judged(repackLpt(weights, binCount), weights, lowerBound)
    case 'karmarkar-karp':
      return judged(karmarkarKarp(weights, binCount), weights, lowerBound)
    case 'best':
      return packBest(weights, binCount, { ...options, lowerBound })
    default:
      return unreachable(strategy)
  }
}

function judged(bins: readonly (readonly number[])[], weights: readonly number[], lowerBound: number): BalancedPacking {
  const peak = peakOf(bins, weights)
  return { bins, peak, lowerBound, isOptimal: peak <= lowerBound }
}

function packBest(
  weights: readonly number[],
  binCount: number,
  options: PackBalancedOptions & { readonly lowerBound: number },
): BalancedPacking {
  const { lowerBound, exactUpTo = repartitionSize, effort = 6000, seed = 1 } = options
  checkRange('exactUpTo', exactUpTo, repartitionSize)
  checkRange('effort', effort, Number.MAX_SAFE_INTEGER)
  const lpt = judged(repackLpt(weights, binCount), weights, lowerBound)
  const differenced = judged(karmarkarKarp(weights, binCount), weights, lowerBound)
  const start = differenced.peak < lpt.peak ? differenced : lpt
  if (start.isOptimal) return start
  const isExact = weights.length <= exactUpTo
  const improved = improveBins(start.bins, weights, { lowerBound, effort, seed, isKicked: !isExact })
  const found = judged(improved, weights, lowerBound)
  return isExact && !found.isOptimal ? proved(found, weights) : found
}

function checkRange(name: string, value: number, maximum: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && value <= maximum) return
  throw new ValueError('value_invalid', `${name} is an integer of 0 to ${maximum}, found ${value}`, {
    details: { name, value: String(value) },
  })
}

/** Lowers the peak by bin completion until there is a proof that it can't be lowered. */
function proved(start: BalancedPacking, weights: readonly number[]): BalancedPacking {
  const budget = { remaining: exactBudget }
  let found = start
  while (!found.isOptimal) {
    const bins = repartition(weights, { binCount: start.bins.length, limit: below(found.peak), budget })
    if (bins === null) return { ...found, isOptimal: budget.remaining > 0 }
    found = judged(bins, weights, start.lowerBound)
  }
  return found
}
