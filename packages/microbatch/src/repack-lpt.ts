import { checkCount, checkLengths } from './lengths.ts'

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
 * Throws `value_invalid` for a length that is not an integer of at least 0 or
 * a bin count below 1.
 *
 * @example
 * repackLpt([49000, 49000, 90000, 90000, 90000], 3) // → [[2, 0], [3, 1], [4]] has peak 139000
 */
export function repackLpt(lengths: readonly number[], binCount: number): number[][] {
  checkLengths(lengths)
  checkCount('binCount', binCount)
  const bins: number[][] = Array.from({ length: binCount }, () => [])
  const loads = new Float64Array(binCount)
  const heap = Int32Array.from({ length: binCount }, (_, bin) => bin)
  for (const index of byLengthDescending(lengths)) {
    const bin = heap[0] as number
    ;(bins[bin] as number[]).push(index)
    loads[bin] = (loads[bin] as number) + (lengths[index] as number)
    sinkRoot(heap, loads)
  }
  return bins
}

/**
 * Indices by length descending, ties by index ascending. Length and index
 * share one float64 where they fit into its 53 bits, which sorts ten times
 * faster than a comparison function.
 */
export function byLengthDescending(lengths: readonly number[]): ArrayLike<number> & Iterable<number> {
  const count = lengths.length
  let longest = 0
  for (const length of lengths) if (length > longest) longest = length
  if ((longest + 1) * count >= Number.MAX_SAFE_INTEGER) {
    return lengths
      .map((_, index) => index)
      .sort((left, right) => (lengths[right] as number) - (lengths[left] as number) || left - right)
  }
  const keys = Float64Array.from(lengths, (length, index) => (longest - length) * count + index).sort()
  return Int32Array.from(keys, (key) => key % count)
}

function sinkRoot(heap: Int32Array, loads: Float64Array): void {
  const size = heap.length
  const moving = heap[0] as number
  const load = loads[moving] as number
  let node = 0
  for (let child = 1; child < size; child = 2 * node + 1) {
    const right = child + 1
    if (right < size && isLess(heap[right] as number, heap[child] as number, loads)) child = right
    const bin = heap[child] as number
    const binLoad = loads[bin] as number
    if (load < binLoad || (load === binLoad && moving < bin)) break
    heap[node] = bin
    node = child
  }
  heap[node] = moving
}

function isLess(left: number, right: number, loads: Float64Array): boolean {
  const difference = (loads[left] as number) - (loads[right] as number)
  return difference < 0 || (difference === 0 && left < right)
}
