import { ConfigError } from '@agentrl/spec'
import { alignMicroBatches } from './align-micro-batches.ts'
import { type PackStrategy, packBalanced } from './pack-balanced.ts'
import { packFirstFit } from './pack-first-fit.ts'
import { peakLowerBound } from './peak-lower-bound.ts'
import { loadOf, peakOf } from './weights.ts'

/**
 * The samples of one training step, packed into a number of micro-batches that
 * the ranks can share.
 *
 * `first-fit` fills bins up to the cap and aligns their number. The balancing
 * strategies start from what that gives and look for better: the fewest
 * micro-batches that keep the cap, and with that many the lowest peak. They
 * never have more micro-batches than first fit, nor, with as many, a higher peak.
 */
export type StepStrategy = 'first-fit' | PackStrategy

export interface PackedStep {
  /** Positions in the step. */
  readonly bins: readonly (readonly number[])[]
  /** The count had to go down, so that the cap was only a target. */
  readonly isRepacked: boolean
}

export interface PackStepOptions {
  /** Tokens that a micro-batch should not exceed. A longer sample stands alone. */
  readonly capTokens: number
  /** The number of micro-batches is a multiple of this. */
  readonly alignTo: number
  readonly strategy: StepStrategy
  /** For messages. */
  readonly step: number
}

/** Repartitions for each count that is tried: a fraction of a second. */
const effort = 1000

/** The packing. Throws `config_unschedulable` when there are fewer samples than `alignTo`. */
export function packStep(lengths: readonly number[], options: PackStepOptions): PackedStep {
  const { capTokens, alignTo, strategy, step } = options
  if (lengths.length < alignTo) {
    throw new ConfigError(
      'config_unschedulable',
      `Step ${step} has ${lengths.length} samples, fewer than the ${alignTo} micro-batches that it needs at least (data-parallel ranks × virtual-pipeline group); use fewer ranks, a smaller group or a larger global batch`,
      { details: { step, samples: lengths.length, alignTo } },
    )
  }
  const { bins, action } = alignMicroBatches(packFirstFit(lengths, capTokens), lengths, alignTo)
  const firstFit = { bins, isRepacked: action === 'repacked' }
  return strategy === 'first-fit' ? firstFit : balance(firstFit, lengths, { ...options, strategy })
}

function balance(
  firstFit: PackedStep,
  lengths: readonly number[],
  options: PackStepOptions & { strategy: PackStrategy },
): PackedStep {
  const { capTokens, alignTo, strategy } = options
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const longSamples = lengths.filter((length) => length > capTokens).length
  const fewest = Math.max(1, Math.ceil(total / capTokens / alignTo)) * alignTo
  const accepted = lengths.reduce((most, length) => Math.max(most, length), capTokens)
  for (let count = fewest; count < firstFit.bins.length; count += alignTo) {
    if (peakLowerBound(lengths, count) > accepted) continue
    const { bins } = packBalanced(lengths, count, { strategy, effort })
    if (overCap(bins, lengths, capTokens) <= longSamples) return { bins, isRepacked: false }
  }
  const { bins, peak } = packBalanced(lengths, firstFit.bins.length, { strategy, effort })
  const isKept = overCap(bins, lengths, capTokens) <= overCap(firstFit.bins, lengths, capTokens)
  const isBetter = isKept && peak <= peakOf(firstFit.bins, lengths)
  return isBetter ? { ...firstFit, bins } : firstFit
}

function overCap(bins: readonly (readonly number[])[], lengths: readonly number[], capTokens: number): number {
  return bins.filter((bin) => loadOf(bin, lengths) > capTokens).length
}
