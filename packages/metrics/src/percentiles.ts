import { ValueError } from '@agentrl/spec'
import { checkValues } from './confidence.ts'

/**
 * Percentiles with linear interpolation between neighbours, as NumPy's default
 * (Hyndman and Fan 1996, type 7). O(n log n). Throws `value_invalid` without
 * values, for one that is not finite, or for a percentile outside [0, 100].
 *
 * @example
 * percentiles([4, 1, 3, 2], [0, 50, 100]) // → [1, 2.5, 4]
 */
export function percentiles(values: readonly number[], at: readonly number[]): number[] {
  checkValues('values', values, 1)
  const sorted = Float64Array.from(values).sort()
  return at.map((percentile) => {
    if (!(percentile >= 0 && percentile <= 100)) {
      throw new ValueError('value_invalid', `A percentile is in [0, 100], found ${percentile}`)
    }
    const position = (percentile / 100) * (sorted.length - 1)
    const below = Math.floor(position)
    const low = sorted[below] as number
    const high = sorted[Math.min(below + 1, sorted.length - 1)] as number
    return low + (high - low) * (position - below)
  })
}
