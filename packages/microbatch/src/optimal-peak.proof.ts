/**
 * Two slow, independent ways to the lowest possible peak, for tests of the
 * packers. Neither shares a line with them.
 */

/**
 * By dynamic programming over all subsets: best[j][S] is the lowest peak of S
 * in j bins, over every first bin that holds the lowest sample of S. O(3^n · k):
 * for up to 11 weights.
 */
export function optimalPeakBySubsets(weights: readonly number[], binCount: number): number {
  const size = 2 ** weights.length
  const loads = Array.from({ length: size }, (_, subset) =>
    weights.reduce((sum, weight, item) => sum + ((subset >> item) & 1) * weight, 0),
  )
  let best = [...loads]
  for (let bins = 2; bins <= binCount; bins += 1) {
    best = best.map((fewer, subset) => {
      let lowest = fewer
      for (let bin = subset; bin > 0; bin = (bin - 1) & subset) {
        lowest = Math.min(lowest, Math.max(loads[bin] ?? 0, best[subset & ~bin] ?? 0))
      }
      return lowest
    })
  }
  return best[size - 1] ?? 0
}

/**
 * By branch and bound: bisects between the mean load and a peak that is known
 * to be possible, and for each peak in question searches for bins or proves
 * that there are none. For up to 24 integer weights.
 */
export function optimalPeak(weights: readonly number[], options: { binCount: number; knownPeak: number }): number {
  const descending = [...weights].sort((left, right) => right - left)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let impossible = Math.max(Math.ceil(total / options.binCount), descending[0] ?? 0) - 1
  let possible = options.knownPeak
  while (possible - impossible > 1) {
    const middle = Math.floor((possible + impossible) / 2)
    if (fits(descending, options.binCount, middle)) possible = middle
    else impossible = middle
  }
  return possible
}

/**
 * Whether `weights`, descending, go into bins of a capacity. Fills bin after
 * bin: the heaviest sample left opens one, and each lighter one joins it or
 * not. A bin into which a sample left out would still fit need not be tried,
 * nor one so light that the rest can't fit into the other bins.
 */
function fits(weights: readonly number[], binCount: number, capacity: number): boolean {
  const impossible = Array.from({ length: binCount + 1 }, () => new Set<number>())

  function fillBins(left: number, total: number, bins: number): boolean {
    if (total > bins * capacity) return false
    if (bins === 1 || left === 0) return true
    if (impossible[bins]?.has(left)) return false
    const items = weights.flatMap((_, item) => ((left >> item) & 1 ? [item] : []))
    const rest = items.map((_, place) => items.slice(place).reduce((sum, item) => sum + (weights[item] ?? 0), 0))
    const least = total - (bins - 1) * capacity

    function fillOne(place: number, bin: number, load: number, lightestOut: number): boolean {
      if (load + (rest[place] ?? 0) < least) return false
      const item = items[place]
      if (item === undefined) {
        return load + lightestOut > capacity && fillBins(left & ~bin, total - load, bins - 1)
      }
      const weight = weights[item] ?? 0
      if (load + weight <= capacity && fillOne(place + 1, bin | (1 << item), load + weight, lightestOut)) return true
      return place > 0 && fillOne(place + 1, bin, load, weight)
    }

    const isFilled = fillOne(0, 0, 0, Number.POSITIVE_INFINITY)
    if (!isFilled) impossible[bins]?.add(left)
    return isFilled
  }

  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return fillBins(2 ** weights.length - 1, total, binCount)
}
