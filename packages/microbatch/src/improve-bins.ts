import { type Random, seededRandom } from '@agentrl/spec'
import { repartition, repartitionSize } from './repartition.ts'
import { loadOf, peakOf } from './weights.ts'

/**
 * Bounded local search for a lower peak.
 *
 *     descend   take the fullest bin and one to three others, put their samples into
 *               as many bins below the peak, until that fails everywhere
 *     kick      from the best packing so far, exchange a few random samples
 *
 * Bins of many samples are made small: at most 24 loose samples are looked at,
 * the rest of each bin is glued into one. Kicks come from a seeded source, so a
 * result is repeatable. It ends at the lower bound, when all bins were taken at
 * once and there is nothing below, or when `effort` repartitions are used up. The result is never worse than what went in.
 */
export interface ImproveOptions {
  /** A peak that can't be beaten; the search ends there. */
  readonly lowerBound: number
  /** Repartitions of two to four bins; each looks at no more than 500 sets. */
  readonly effort: number
  /** Whether to go on from kicked packings after the first descent. */
  readonly isKicked: boolean
  readonly seed: number
}

/** Sets looked at in one repartition. */
const setsPerRepartition = 500
/** How many of the least loaded bins are tried beside the fullest: one at a time, two at a time, three at a time. */
const neighbours = [16, 7, 5]

/** Bins of sample indices, no bin fuller than the fullest of `bins`. */
export function improveBins(
  bins: readonly (readonly number[])[],
  weights: readonly number[],
  options: ImproveOptions,
): number[][] {
  const random = seededRandom(options.seed)
  const search: Search = { weights, random, lowerBound: options.lowerBound, effortLeft: options.effort }
  let best = bins.map((bin) => [...bin])
  let bestPeak = peakOf(best, weights)
  let current = best.map((bin) => [...bin])
  while (bestPeak > options.lowerBound && search.effortLeft > 0) {
    // A round costs something even where no neighbourhood is worth a try, so that it ends.
    search.effortLeft -= 1
    descend(search, current)
    const peak = peakOf(current, weights)
    if (peak < bestPeak) {
      bestPeak = peak
      best = current
    }
    if (!options.isKicked || bins.length < 2) break
    current = kick(best, random)
  }
  return best
}

interface Search {
  readonly weights: readonly number[]
  readonly random: Random
  readonly lowerBound: number
  effortLeft: number
}

/** Lowers the fullest bin until no neighbourhood helps. Writes into `bins`. */
function descend(search: Search, bins: number[][]): void {
  const loads = bins.map((bin) => loadOf(bin, search.weights))
  for (;;) {
    const order = [...bins.keys()].sort((left, right) => (loads[left] as number) - (loads[right] as number))
    const fullest = order.pop()
    if (fullest === undefined || (loads[fullest] as number) <= search.lowerBound) return
    const isLowered = neighbourhoods(fullest, order).some((chosen) => repartitionBins(search, { bins, loads, chosen }))
    if (!isLowered) return
  }
}

/** The bins to repartition together with the fullest: one other, then two, then three of the least loaded. */
function neighbourhoods(fullest: number, others: readonly number[]): number[][] {
  return neighbours.flatMap((among, position) =>
    combinations(others.slice(0, among), position + 1).map((chosen) => [fullest, ...chosen]),
  )
}

/** All ways to choose `count` of `items`, in order. */
function combinations(items: readonly number[], count: number): number[][] {
  if (count === 0) return [[]]
  return items.flatMap((item, position) =>
    combinations(items.slice(position + 1), count - 1).map((rest) => [item, ...rest]),
  )
}

/** Whether the chosen bins, of which the first is the fullest, now all lie below it. */
function repartitionBins(
  search: Search,
  place: { bins: number[][]; loads: number[]; chosen: readonly number[] },
): boolean {
  const { bins, loads, chosen } = place
  const limit = below(loads[chosen[0] as number] as number)
  const total = chosen.reduce((sum, bin) => sum + (loads[bin] as number), 0)
  if (total > limit * chosen.length || search.effortLeft <= 0) return false
  search.effortLeft -= 1
  const pieces = chosen.flatMap((bin) =>
    piecesOf(search, bins[bin] as number[], Math.floor(repartitionSize / chosen.length)),
  )
  const budget = { remaining: setsPerRepartition }
  const parts = repartition(
    pieces.map((piece) => loadOf(piece, search.weights)),
    { binCount: chosen.length, limit, budget },
  )
  if (parts === null) {
    const isProof = chosen.length === bins.length && pieces.length === search.weights.length && budget.remaining > 0
    if (isProof) search.effortLeft = 0
    return false
  }
  chosen.forEach((bin, number) => {
    bins[bin] = (parts[number] ?? []).flatMap((piece) => pieces[piece] as number[])
    loads[bin] = loadOf(bins[bin], search.weights)
  })
  return true
}

/** The samples of a bin as at most `count` pieces: loose ones, chosen at random, and the rest glued together. */
function piecesOf(search: Search, bin: readonly number[], count: number): number[][] {
  if (bin.length <= count) return bin.map((sample) => [sample])
  const shuffled = [...bin]
  for (let position = 0; position < count - 1; position += 1) {
    const other = position + Math.floor(search.random() * (shuffled.length - position))
    const held = shuffled[position] as number
    shuffled[position] = shuffled[other] as number
    shuffled[other] = held
  }
  return [...shuffled.slice(0, count - 1).map((sample) => [sample]), shuffled.slice(count - 1)]
}

/** The next lower peak: one less for integers, a billionth less otherwise. */
export function below(peak: number): number {
  return Number.isSafeInteger(peak) ? peak - 1 : peak * (1 - 1e-9)
}

/** A copy with two to four random samples exchanged between bins, or moved to another. */
function kick(bins: readonly (readonly number[])[], random: Random): number[][] {
  const kicked = bins.map((bin) => [...bin])
  const pick = (count: number): number => Math.floor(random() * count)
  for (let left = 2 + pick(3); left > 0; left -= 1) {
    const from = kicked[pick(kicked.length)] as number[]
    const to = kicked[pick(kicked.length)] as number[]
    if (from === to || from.length < 2) continue
    const [moved] = from.splice(pick(from.length), 1)
    if (to.length > 0 && random() < 0.7) from.push(...to.splice(pick(to.length), 1))
    to.push(moved as number)
  }
  return kicked
}
