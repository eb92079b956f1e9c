import { ConfigError, ValueError } from '@agentrl/spec'
import { type CapOverflow, capOverflow } from './cap-overflow.ts'
import { type CostModel, costsOf } from './cost-models.ts'
import { karmarkarKarp } from './karmarkar-karp.ts'
import { type PackedStep, packStep, type StepStrategy } from './pack-step.ts'
import { checkCount, checkLengths, loadOf } from './weights.ts'

/**
 * The micro-batch schedule of one rollout over data-parallel ranks: pack first,
 * distribute second.
 *
 *     rollouts ──first occurrence──▶ steps of globalBatchSize rollouts (the rest is left out)
 *     step ──packStep──▶ K micro-batches, a multiple of dp × virtual-pipeline group
 *     micro-batches ──round robin, or balanced by cost──▶ ranks, K / dp each
 *
 * Every rank has the same number of micro-batches in a step, by construction.
 * By default equal to slime's `build_dp_schedule` (624b824a, dynamic batch
 * size, no balancing) wherever that succeeds. Where it gives up because no bin
 * can be split any more, the count goes down and LPT repacks the step, with a
 * warning. With `rankCost` ranks are balanced as under its `balance_data`.
 */

export interface ScheduleOptions {
  /** Tokens of each sample, shape [N]; at least 1 each. */
  readonly lengths: readonly number[]
  /** The rollout that each sample came from, shape [N]. Samples of one rollout stay in one step. */
  readonly rolloutIds: readonly (string | number)[]
  /** Data-parallel ranks. */
  readonly dpSize: number
  /** Context-parallel ranks: they share a micro-batch, so the cap is `maxTokensPerGpu` × `cpSize`. Default 1. */
  readonly cpSize?: number
  /** Virtual pipeline stages. Above 1, the count is a multiple of `microbatchGroupSize` too. Default 1. */
  readonly vppSize?: number
  /** Micro-batches that a virtual pipeline takes at a time. Default 1. */
  readonly microbatchGroupSize?: number
  readonly maxTokensPerGpu: number
  /** Rollouts in a training step. */
  readonly globalBatchSize: number
  /** How the samples of a step are packed. Default `first-fit`, as slime does. */
  readonly strategy?: StepStrategy
  /** Spreads micro-batches so that ranks cost alike. Default: round robin. */
  readonly rankCost?: CostModel
}

/** What a schedule does that somebody should know of. */
export type ScheduleWarning =
  | {
      readonly code: 'rollouts_dropped'
      readonly message: string
      readonly droppedSamples: readonly number[]
      readonly droppedRollouts: number
    }
  | {
      /** `over_cap`: samples longer than the cap. `repacked`: the count went down, so the cap was only a target. */
      readonly code: 'over_cap' | 'repacked'
      readonly message: string
      readonly step: number
      readonly microBatches: number
      readonly overflow: CapOverflow
    }

export interface Schedule {
  /** Shape [dp][ragged]: the samples of each rank, in the order in which they are trained. */
  readonly partitions: readonly (readonly number[])[]
  /** Shape [dp][micro-batch][ragged]: positions in the rank's partition. */
  readonly microBatchIndices: readonly (readonly (readonly number[])[])[]
  /** Shape [step]: micro-batches of each rank. */
  readonly numMicrobatches: readonly number[]
  /** Shape [step]: rollouts of the step. */
  readonly globalBatchSizes: readonly number[]
  readonly warnings: readonly ScheduleWarning[]
}

/**
 * The schedule. Throws `value_invalid` for broken lengths, sizes or columns,
 * and `config_unschedulable` when there are fewer rollouts than one step needs
 * or fewer samples in a step than ranks × virtual-pipeline group.
 *
 * @example
 * planSchedule({
 *   lengths: [900, 300, 500, 800],
 *   rolloutIds: [0, 1, 2, 3],
 *   dpSize: 2,
 *   maxTokensPerGpu: 1000,
 *   globalBatchSize: 4,
 * }).partitions
 * // → [[0, 3], [2, 1]]
 */
export function planSchedule(options: ScheduleOptions): Schedule {
  checkSchedule(options)
  const { lengths, dpSize, globalBatchSize } = options
  const { steps, dropped } = stepsOf(options)
  const partitions: number[][] = Array.from({ length: dpSize }, () => [])
  const microBatchIndices: number[][][] = Array.from({ length: dpSize }, () => [])
  const warnings: ScheduleWarning[] = dropped.length === 0 ? [] : [droppedWarning(dropped, globalBatchSize)]
  const numMicrobatches = steps.map((samples, step) => {
    const stepLengths = samples.map((sample) => lengths[sample] as number)
    const packed = packStep(stepLengths, { ...packingOf(options), step })
    warnings.push(...capWarnings(packed, { lengths: stepLengths, step, options }))
    ranksOf(packed.bins, stepLengths, options).forEach((bins, rank) => {
      for (const bin of bins) {
        const partition = partitions[rank] as number[]
        microBatchIndices[rank]?.push(bin.map((_, offset) => partition.length + offset))
        for (const position of bin) partition.push(samples[position] as number)
      }
    })
    return packed.bins.length / dpSize
  })
  const globalBatchSizes = numMicrobatches.map(() => globalBatchSize)
  return { partitions, microBatchIndices, numMicrobatches, globalBatchSizes, warnings }
}

/** What the samples of a step are packed into. */
function packingOf(options: ScheduleOptions): { capTokens: number; alignTo: number; strategy: StepStrategy } {
  const { dpSize, cpSize = 1, maxTokensPerGpu, strategy = 'first-fit' } = options
  return { capTokens: maxTokensPerGpu * cpSize, alignTo: dpSize * groupSizeOf(options), strategy }
}

function groupSizeOf({ vppSize = 1, microbatchGroupSize = 1 }: ScheduleOptions): number {
  return vppSize > 1 ? microbatchGroupSize : 1
}

function checkSchedule(options: ScheduleOptions): void {
  checkLengths(options.lengths, 1)
  if (options.rolloutIds.length !== options.lengths.length) {
    throw new ValueError(
      'value_invalid',
      `rolloutIds has ${options.rolloutIds.length} entries for ${options.lengths.length} samples`,
      { details: { rolloutIds: options.rolloutIds.length, lengths: options.lengths.length } },
    )
  }
  const { dpSize, cpSize = 1, vppSize = 1, microbatchGroupSize = 1, maxTokensPerGpu, globalBatchSize } = options
  const counts = { dpSize, cpSize, vppSize, microbatchGroupSize, maxTokensPerGpu, globalBatchSize }
  for (const [name, value] of Object.entries(counts)) checkCount(name, value)
}

/** The samples of each step, and those of each rollout that fills no step. */
function stepsOf(options: ScheduleOptions): { steps: number[][]; dropped: number[][] } {
  const { rolloutIds, globalBatchSize } = options
  const samplesOf = new Map<string | number, number[]>()
  rolloutIds.forEach((rolloutId, sample) => {
    const samples = samplesOf.get(rolloutId)
    if (samples === undefined) samplesOf.set(rolloutId, [sample])
    else samples.push(sample)
  })
  const rollouts = [...samplesOf.values()]
  const stepCount = Math.floor(rollouts.length / globalBatchSize)
  if (stepCount < 1) {
    throw new ConfigError(
      'config_unschedulable',
      `${rollouts.length} rollouts are fewer than the ${globalBatchSize} of one training step (globalBatchSize)`,
      { details: { rollouts: rollouts.length, globalBatchSize } },
    )
  }
  const steps = Array.from({ length: stepCount }, (_, step) =>
    rollouts.slice(step * globalBatchSize, (step + 1) * globalBatchSize).flat(),
  )
  return { steps, dropped: rollouts.slice(stepCount * globalBatchSize) }
}

/** The micro-batches of each rank: every dp-th, or as many of about equal cost. */
function ranksOf(
  bins: readonly (readonly number[])[],
  lengths: readonly number[],
  { dpSize, rankCost }: ScheduleOptions,
): (readonly number[])[][] {
  if (rankCost === undefined) {
    return Array.from({ length: dpSize }, (_, rank) => bins.filter((_, number) => number % dpSize === rank))
  }
  const costs = costsOf(lengths, rankCost)
  const binCosts = bins.map((bin) => loadOf(bin, costs))
  const ranks = karmarkarKarp(binCosts, dpSize, { isEqualCount: true })
  return ranks.map((numbers) => numbers.map((number) => bins[number] as readonly number[]))
}

function capWarnings(
  packed: PackedStep,
  place: { lengths: readonly number[]; step: number; options: ScheduleOptions },
): ScheduleWarning[] {
  const { lengths, step, options } = place
  const { maxTokensPerGpu, cpSize = 1, dpSize } = options
  const { bins, isRepacked } = packed
  const groupSize = groupSizeOf(options)
  const overflow = capOverflow({ bins, lengths, maxTokensPerGpu, cpSize, dpSize, groupSize, isRepacked })
  if (overflow.overCapCount === 0 && !isRepacked) return []
  const { capTokens, peakTokens, overCapCount, longSamples, reliefs } = overflow
  const cause = isRepacked
    ? `${lengths.length} samples can't be split further, so they share ${bins.length} micro-batches`
    : `${longSamples} samples are longer than the cap`
  const advice = reliefs.length === 0 ? '' : `; ${reliefs.map(({ message }) => message).join(', or ')}`
  return [
    {
      code: isRepacked ? 'repacked' : 'over_cap',
      message: `Step ${step}: ${cause}; the peak is ${peakTokens} of ${capTokens} tokens, ${overCapCount} of ${bins.length} micro-batches are over it${advice}`,
      step,
      microBatches: bins.length,
      overflow,
    },
  ]
}

function droppedWarning(dropped: readonly (readonly number[])[], globalBatchSize: number): ScheduleWarning {
  const droppedSamples = dropped.flat()
  return {
    code: 'rollouts_dropped',
    message: `${dropped.length} rollouts (${droppedSamples.length} samples) do not fill a step of ${globalBatchSize} and are left out`,
    droppedSamples,
    droppedRollouts: dropped.length,
  }
}
