import { heaviestWithin, type Subset, subsetsWithin } from './subset-sums.ts'

/**
 * A few samples, put into m bins so that no bin exceeds a limit, or the
 * certainty that it can't be done.
 *
 * Bin completion: the heaviest sample left opens a bin; every set that may
 * complete it is tried, and the rest goes into m − 1 bins in the same way. With
 * R the weight that is left, such a bin weighs between R − (m − 1) · limit and
 * the limit; the sets in that window come from two sorted lists of subset sums.
 * The last two bins are split at the best place, not at the first that will do,
 * so that a limit which is lowered again and again falls in long steps.
 *
 * Two rules cut the search and lose no partition: a set is skipped when one
 * more sample would fit into its bin, or when one of its samples could be
 * exchanged for a heavier one (Martello and Toth 1990, section 8.4, dominance
 * between bins). What failed once is remembered by (samples left, bins left).
 */

/** Most samples that are repartitioned at once: two lists of 2^12 subset sums. */
export const repartitionSize = 24

/** A bound on the sets looked at, shared by the calls of one search. */
interface WorkBudget {
  remaining: number
}

export interface RepartitionOptions {
  readonly binCount: number
  /** No bin weighs more. */
  readonly limit: number
  readonly budget: WorkBudget
}

/**
 * Bins of positions in `weights`, or null: proof that there are none, unless
 * `budget.remaining` is down to 0. No bin is empty where there are as many
 * weights as bins. At most `repartitionSize` weights.
 */
export function repartition(weights: readonly number[], options: RepartitionOptions): number[][] | null {
  const order = weights.map((_, position) => position)
  order.sort((left, right) => (weights[right] as number) - (weights[left] as number))
  const search: Search = {
    weights: order.map((position) => weights[position] as number),
    limit: options.limit,
    budget: options.budget,
    failed: Array.from({ length: options.binCount + 1 }, () => new Set()),
  }
  const bins = complete(search, [...order.keys()], options.binCount)
  return bins === null ? null : withoutEmpty(bins).map((bin) => bin.map((item) => order[item] as number))
}

/** Gives each empty bin the last sample of a bin that has several: no peak rises. */
function withoutEmpty(bins: number[][]): number[][] {
  return bins.map((bin) => {
    if (bin.length > 0) return bin
    const moved = bins.find((other) => other.length > 1)?.pop()
    return moved === undefined ? bin : [moved]
  })
}

interface Search extends Omit<RepartitionOptions, 'binCount'> {
  /** Descending; an item is a position here. */
  readonly weights: readonly number[]
  /** By bins left: the sets of items left that have no partition, as bit masks. */
  readonly failed: readonly Set<number>[]
}

/** `items` ascend, so their weights descend. */
function complete(search: Search, items: readonly number[], binCount: number): number[][] | null {
  const { weights, limit } = search
  const total = items.reduce((sum, item) => sum + (weights[item] as number), 0)
  if (total > binCount * limit || isTooTight(search, items, binCount)) return null
  if (items.length <= binCount || binCount === 1) return spread(items, binCount)
  if (binCount === 2) return completeTwo(search, items, total)
  const failed = search.failed[binCount] as Set<number>
  const itemMask = items.reduce((mask, item) => mask | (1 << item), 0)
  if (failed.has(itemMask)) return null
  const bins = completeMany(search, items, { total, binCount })
  if (bins === null) failed.add(itemMask)
  return bins
}

/** One bin for each item while there are bins, the rest in the last. */
function spread(items: readonly number[], binCount: number): number[][] {
  return Array.from({ length: binCount }, (_, bin) => items.slice(bin, bin === binCount - 1 ? undefined : bin + 1))
}

function completeTwo(search: Search, items: readonly number[], total: number): number[][] | null {
  search.budget.remaining -= 1
  const lighter = heaviestWithin(
    items.map((item) => search.weights[item] as number),
    total / 2,
  )
  return total - lighter.sum > search.limit ? null : divide(items, lighter.mask).reverse()
}

function completeMany(
  search: Search,
  items: readonly number[],
  left: { total: number; binCount: number },
): number[][] | null {
  const { weights, limit, budget } = search
  const [opener, ...rest] = items as [number, ...number[]]
  const room = limit - (weights[opener] as number)
  const restWeights = rest.map((item) => weights[item] as number)
  const least = left.total - (left.binCount - 1) * limit - (weights[opener] as number)
  for (const subset of subsetsWithin(restWeights, least, room)) {
    if (budget.remaining <= 0) return null
    budget.remaining -= 1
    if (isDominated(restWeights, subset, room)) continue
    const [chosen, others] = divide(rest, subset.mask)
    const bins = complete(search, others, left.binCount - 1)
    if (bins !== null) return [[opener, ...chosen], ...bins]
  }
  return null
}

/** The items in a mask over positions, and the others. */
function divide(items: readonly number[], mask: number): [number[], number[]] {
  const isChosen = (_: number, position: number): boolean => ((mask >> position) & 1) === 1
  return [items.filter(isChosen), items.filter((item, position) => !isChosen(item, position))]
}

/**
 * Whether another sample fits beside the chosen ones, or a heavier one in place
 * of one of them. Weights descend: the lightest left out, and for each left out
 * the next chosen one after it, decide.
 */
function isDominated(weights: readonly number[], subset: Subset, room: number): boolean {
  const slack = room - subset.sum
  let lastLeftOut = Number.POSITIVE_INFINITY
  for (let position = 0; position < weights.length; position += 1) {
    const weight = weights[position] as number
    if (((subset.mask >> position) & 1) === 0) lastLeftOut = weight
    else if (lastLeftOut > weight && lastLeftOut - weight <= slack) return true
  }
  return lastLeftOut <= slack
}

/** Whether some d samples must share a bin and weigh too much: the d lightest of the (d − 1) · binCount + 1 heaviest. */
function isTooTight(search: Search, items: readonly number[], binCount: number): boolean {
  for (let depth = 1; (depth - 1) * binCount < items.length; depth += 1) {
    const end = (depth - 1) * binCount + 1
    let load = 0
    for (let position = end - depth; position < end; position += 1) {
      load += search.weights[items[position] as number] as number
    }
    if (load > search.limit) return true
  }
  return false
}
