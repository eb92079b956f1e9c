import { byWeightDescending } from './by-weight-descending.ts'
import { checkCount, checkWeights } from './weights.ts'

/**
 * A peak that no packing into `binCount` bins can be below: the larger of
 *
 *     ⌈Σ / k⌉                                             (Σ / k where a weight is not an integer)
 *     max over j: the ⌈j/k⌉ lightest of the j heaviest     of j samples, some bin holds ⌈j/k⌉
 *
 * The second is largest, for each depth d = ⌈j/k⌉, at j = (d − 1)k + 1. O(n log n).
 * Throws `value_invalid` for a weight that is negative or not finite, or a bin
 * count below 1.
 *
 * @example
 * peakLowerBound([49000, 49000, 90000, 90000, 90000], 3) // → 139000
 * // of the four heaviest in three bins, two share one
 */
export function peakLowerBound(weights: readonly number[], binCount: number): number {
  checkWeights(weights)
  checkCount('binCount', binCount)
  const prefix = new Float64Array(weights.length + 1)
  let areIntegers = true
  byWeightDescending(weights).forEach((sample, position) => {
    const weight = weights[sample] as number
    prefix[position + 1] = (prefix[position] as number) + weight
    if (!Number.isInteger(weight)) areIntegers = false
  })
  const mean = (prefix[weights.length] as number) / binCount
  let bound = areIntegers ? Math.ceil(mean) : mean
  for (let depth = 1; (depth - 1) * binCount < weights.length; depth += 1) {
    const end = (depth - 1) * binCount + 1
    bound = Math.max(bound, (prefix[end] as number) - (prefix[end - depth] as number))
  }
  return bound
}
