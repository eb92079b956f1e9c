import { ConfigError } from '@agentrl/spec'
import { repackLpt } from './repack-lpt.ts'
import { checkCount, loadOf } from './weights.ts'

/**
 * Bins, made to a count that every rank of a pipeline can share.
 *
 * Up first: the largest bin that holds several samples is split until the count
 * is a multiple of the alignment; a split never makes a bin larger, so the cap
 * holds. When every bin is a single sample and the count is still off, upstream
 * gives up; here it goes down: to the multiple below, with all samples repacked
 * by LPT. Then the cap is a target and not a bound.
 */
export interface AlignedMicroBatches {
  readonly bins: readonly (readonly number[])[]
  /** `repacked`: the count went down, and bins may exceed the cap. */
  readonly action: 'kept' | 'split' | 'repacked'
}

/**
 * The bins, their number a multiple of `alignTo`. Bins hold indices into
 * `lengths`. O(bins) for each split. Throws `config_unschedulable` when there
 * are fewer samples than `alignTo`, so that some rank would have nothing to do.
 *
 * @example
 * alignMicroBatches([[0], [1], [2]], [90, 80, 70], 2) // → { bins: [[0], [1, 2]], action: 'repacked' }
 */
export function alignMicroBatches(
  bins: readonly (readonly number[])[],
  lengths: readonly number[],
  alignTo: number,
): AlignedMicroBatches {
  checkCount('alignTo', alignTo)
  const target = Math.max(1, Math.ceil(bins.length / alignTo)) * alignTo
  if (target === bins.length) return { bins, action: 'kept' }
  const grown = growBySplitting(bins, lengths, target)
  if (grown.length === target) return { bins: grown, action: 'split' }
  const sampleCount = grown.length
  const lowered = Math.floor(sampleCount / alignTo) * alignTo
  if (lowered === 0) {
    throw new ConfigError(
      'config_unschedulable',
      `${sampleCount} samples make at most ${sampleCount} micro-batches, fewer than the ${alignTo} that the ranks and the pipeline need at least; use fewer data-parallel ranks, a smaller micro-batch group or a larger global batch`,
      { details: { samples: sampleCount, alignTo } },
    )
  }
  const order = grown.flat().sort((left, right) => left - right)
  const repacked = repackLpt(
    order.map((index) => lengths[index] as number),
    lowered,
  )
  return { bins: repacked.map((bin) => bin.map((position) => order[position] as number)), action: 'repacked' }
}

/** Splits the largest bin of several samples (ties: the later bin) until there are `target` bins or none can be split. */
function growBySplitting(bins: readonly (readonly number[])[], lengths: readonly number[], target: number): number[][] {
  const grown = bins.map((bin) => [...bin])
  const loads = grown.map((bin) => loadOf(bin, lengths))
  while (grown.length < target) {
    let largest = -1
    for (let bin = 0; bin < grown.length; bin += 1) {
      const isSplittable = (grown[bin] as number[]).length > 1
      if (isSplittable && (largest < 0 || (loads[bin] as number) >= (loads[largest] as number))) largest = bin
    }
    if (largest < 0) break
    const [left, right] = splitByTokens(grown[largest] as number[], lengths)
    grown[largest] = left
    loads[largest] = loadOf(left, lengths)
    grown.push(right)
    loads.push(loadOf(right, lengths))
  }
  return grown
}

/** Two halves of a bin by longest processing time: longest first (ties: as they stand), each to the lighter half. */
function splitByTokens(bin: readonly number[], lengths: readonly number[]): [number[], number[]] {
  const halves: [number[], number[]] = [[], []]
  let lead = 0
  for (const index of [...bin].sort((left, right) => (lengths[right] as number) - (lengths[left] as number))) {
    const half = lead <= 0 ? 0 : 1
    halves[half].push(index)
    lead += half === 0 ? (lengths[index] as number) : -(lengths[index] as number)
  }
  return halves
}
