/**
 * Sums of subsets of a few items, by the method of Horowitz and Sahni (1974):
 * the items are halved, the subset sums of each half are listed in ascending
 * order, and a pair of pointers walks the two lists. Looking at all 2^n subsets
 * costs 2^(n/2).
 *
 * A subset is a bit mask: bit i is item i. At most 24 items.
 */

interface SortedSums {
  readonly sums: Float64Array
  readonly masks: Int32Array
}

/**
 * The subset sums of one half, ascending. Built by doubling: the subsets with
 * the next item are those without it, moved up by its weight, and the two
 * ascending lists are merged.
 */
function sortedSums(weights: readonly number[]): SortedSums {
  let sums = new Float64Array([0])
  let masks = new Int32Array([0])
  weights.forEach((weight, item) => {
    const size = sums.length
    const nextSums = new Float64Array(2 * size)
    const nextMasks = new Int32Array(2 * size)
    let without = 0
    let moved = 0
    for (let position = 0; position < 2 * size; position += 1) {
      const movedSum = moved < size ? (sums[moved] as number) + weight : Number.POSITIVE_INFINITY
      if (without < size && (sums[without] as number) <= movedSum) {
        nextSums[position] = sums[without] as number
        nextMasks[position] = masks[without] as number
        without += 1
      } else {
        nextSums[position] = movedSum
        nextMasks[position] = (masks[moved] as number) | (1 << item)
        moved += 1
      }
    }
    sums = nextSums
    masks = nextMasks
  })
  return { sums, masks }
}

function halves(weights: readonly number[]): { left: SortedSums; right: SortedSums; shift: number } {
  const shift = weights.length >> 1
  return { left: sortedSums(weights.slice(0, shift)), right: sortedSums(weights.slice(shift)), shift }
}

/** A subset and what it weighs. */
export interface Subset {
  readonly mask: number
  readonly sum: number
}

/** The heaviest subset of at most `bound`; the empty one where nothing fits. */
export function heaviestWithin(weights: readonly number[], bound: number): Subset {
  const { left, right, shift } = halves(weights)
  let best: Subset = { mask: 0, sum: 0 }
  let end = right.sums.length - 1
  for (let start = 0; start < left.sums.length; start += 1) {
    const base = left.sums[start] as number
    while (end >= 0 && base + (right.sums[end] as number) > bound) end -= 1
    if (end < 0) break
    const sum = base + (right.sums[end] as number)
    if (sum > best.sum) best = { mask: (left.masks[start] as number) | ((right.masks[end] as number) << shift), sum }
  }
  return best
}

/** All subsets that weigh `from` to `to`, both included, lightest half first. */
export function* subsetsWithin(weights: readonly number[], from: number, to: number): Generator<Subset> {
  const { left, right, shift } = halves(weights)
  let end = right.sums.length - 1
  for (let start = 0; start < left.sums.length; start += 1) {
    const base = left.sums[start] as number
    while (end >= 0 && base + (right.sums[end] as number) > to) end -= 1
    for (let position = end; position >= 0; position -= 1) {
      const sum = base + (right.sums[position] as number)
      if (sum < from) break
      yield { mask: (left.masks[start] as number) | ((right.masks[position] as number) << shift), sum }
    }
  }
}
