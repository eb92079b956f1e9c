import { byWeightDescending } from './by-weight-descending.ts'
import { checkCount, checkWeights } from './weights.ts'

/**
 * Longest processing time first: samples by length descending (ties: lower
 * index first), each into the least loaded bin (ties: lower bin first). Its
 * peak is at most 4/3 − 1/(3k) of the optimum (Graham 1969, theorem 3).
 *
 * The least loaded bin stands at the root of a binary heap ordered by (load,
 * bin); putting a sample into it only ever sinks the root.
 */

/**
 * `binCount` bins of sample indices, in the order in which they were put.
 * Bins are left empty where there are fewer samples than bins. O(n log n).
 * Throws `value_invalid` for a length that is negative or not finite or
 * a bin count below 1.
 *
 * @example
 * repackLpt([49000, 49000, 90000, 90000, 90000], 3) // → [[2, 0], [3, 1], [4]]
 * // the fullest has 139000
 */
export function repackLpt(lengths: readonly number[], binCount: number): number[][] {
  checkWeights(lengths)
  checkCount('binCount', binCount)
  const bins: number[][] = Array.from({ length: binCount }, () => [])
  const heap = { loads: new Float64Array(binCount), bins: Int32Array.from(bins.keys()) }
  for (const sample of byWeightDescending(lengths)) {
    const bin = heap.bins[0] as number
    ;(bins[bin] as number[]).push(sample)
    sinkRoot(heap, (heap.loads[0] as number) + (lengths[sample] as number), bin)
  }
  return bins
}

/** A binary heap of bins, least (load, bin) at the root. The two arrays move together. */
interface BinHeap {
  readonly loads: Float64Array
  readonly bins: Int32Array
}

/** Gives the root a larger load and moves it down to its place. */
function sinkRoot(heap: BinHeap, load: number, bin: number): void {
  const { loads, bins } = heap
  const size = bins.length
  let node = 0
  for (let child = 1; child < size; child = 2 * node + 1) {
    if (child + 1 < size && isBefore(heap, child + 1, child)) child += 1
    const childLoad = loads[child] as number
    if (load < childLoad || (load === childLoad && bin < (bins[child] as number))) break
    loads[node] = childLoad
    bins[node] = bins[child] as number
    node = child
  }
  loads[node] = load
  bins[node] = bin
}

function isBefore(heap: BinHeap, left: number, right: number): boolean {
  const difference = (heap.loads[left] as number) - (heap.loads[right] as number)
  return difference < 0 || (difference === 0 && (heap.bins[left] as number) < (heap.bins[right] as number))
}
