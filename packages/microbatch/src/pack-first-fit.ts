import { checkCount, checkLengths } from './weights.ts'

/**
 * First fit: each sample, in order, goes into the first bin that still has
 * room; where none has, into a new one. A sample longer than the cap gets a bin
 * of its own, the only kind of bin that may exceed it.
 *
 * The bin is found in a tournament tree over free room (each node holds the
 * most room below it; go left whenever the left has enough), in O(log n) where
 * the usual scan is O(bins). A bin that is not opened yet counts as one with
 * all its room free, so "the first that fits" covers both cases. The result is
 * the same, bin by bin, as slime's `first_fit_pack`.
 */

/**
 * Bins of sample indices; indices ascend within a bin, bins are in the order in
 * which they were opened. O(n log n). Throws `value_invalid` for a length that
 * is not an integer of at least 0 or a cap below 1.
 *
 * @example
 * packFirstFit([60, 50, 40, 70], 100) // → [[0, 2], [1], [3]]
 */
export function packFirstFit(lengths: readonly number[], maxTokens: number): number[][] {
  checkLengths(lengths)
  checkCount('maxTokens', maxTokens)
  let leaves = 1
  while (leaves < lengths.length) leaves *= 2
  const room = new Float64Array(2 * leaves).fill(maxTokens)
  const bins: number[][] = []
  lengths.forEach((length, index) => {
    const bin = length > maxTokens ? bins.length : firstWithRoom(room, leaves, length)
    const members = bins[bin]
    if (members === undefined) bins.push([index])
    else members.push(index)
    takeRoom(room, leaves + bin, length)
  })
  return bins
}

function firstWithRoom(room: Float64Array, leaves: number, needed: number): number {
  let node = 1
  while (node < leaves) {
    node *= 2
    if ((room[node] as number) < needed) node += 1
  }
  return node - leaves
}

function takeRoom(room: Float64Array, leaf: number, length: number): void {
  room[leaf] = (room[leaf] as number) - length
  for (let node = leaf >> 1; node >= 1; node >>= 1) {
    room[node] = Math.max(room[2 * node] as number, room[2 * node + 1] as number)
  }
}
