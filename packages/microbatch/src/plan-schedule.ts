import { ConfigError, ValueError } from '@agentrl/spec'
import { alignMicroBatches } from './align-micro-batches.ts'
import { checkCount, checkLengths, loadOf, peakOf } from './lengths.ts'
import { packFirstFit } from './pack-first-fit.ts'

/**
 * The micro-batch schedule of one rollout over data-parallel ranks: pack first,
 * distribute second.
 *
 *     rollouts ──first occurrence──▶ steps of globalBatchSize rollouts (the rest is left out)
 *     step ──first fit──▶ bins ──align──▶ K bins, a multiple of dp × virtual-pipeline group
 *     bins ──round robin──▶ rank r gets bins r, r + dp, r + 2·dp …
 *
 * Every rank has the same number of micro-batches in a step, by construction.
 * Equal to slime's `build_dp_schedule` (624b824a, dynamic batch size, no
 * balancing) wherever that succeeds. Where it gives up because no bin can be
 * split any more, the count goes down and LPT repacks the step
 * (`alignMicroBatches`), with a warning.
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
      /** Micro-batches over the cap, in one step: by a long sample alone, or because the count went down. */
      readonly code: 'over_cap' | 'repacked'
      readonly message: string
      readonly step: number
      readonly microBatches: number
      readonly peakTokens: number
      readonly capTokens: number
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
 * planSchedule({ lengths: [900, 300, 500, 800], rolloutIds: [0, 1, 2, 3], dpSize: 2, maxTokensPerGpu: 1000, globalBatchSize: 4 })
 * // → partitions [[0, 2], [1, 3]], numMicrobatches [2]
 */
export function planSchedule(options: ScheduleOptions): Schedule {
  const { lengths, dpSize, cpSize = 1, maxTokensPerGpu, globalBatchSize } = options
  checkSchedule(options)
  const alignTo = alignmentOf(options)
  const capTokens = maxTokensPerGpu * cpSize
  const rollouts = samplesByRollout(options.rolloutIds)
  const stepCount = Math.floor(rollouts.length / globalBatchSize)
  if (stepCount < 1) {
    throw new ConfigError(
      'config_unschedulable',
      `${rollouts.length} rollouts are fewer than the ${globalBatchSize} of one training step (globalBatchSize)`,
      { details: { rollouts: rollouts.length, globalBatchSize } },
    )
  }
  const partitions: number[][] = Array.from({ length: dpSize }, () => [])
  const microBatchIndices: number[][][] = Array.from({ length: dpSize }, () => [])
  const numMicrobatches: number[] = []
  const warnings: ScheduleWarning[] = []
  for (let step = 0; step < stepCount; step += 1) {
    const samples = rollouts.slice(step * globalBatchSize, (step + 1) * globalBatchSize).flat()
    const stepLengths = samples.map((sample) => lengths[sample] as number)
    const { bins, action } = alignStep(packFirstFit(stepLengths, capTokens), stepLengths, { alignTo, step })
    numMicrobatches.push(bins.length / dpSize)
    warnings.push(...capWarnings({ bins, lengths: stepLengths, capTokens, step, action }))
    bins.forEach((bin, number) => {
      const partition = partitions[number % dpSize] as number[]
      const start = partition.length
      for (const position of bin) partition.push(samples[position] as number)
      microBatchIndices[number % dpSize]?.push(bin.map((_, offset) => start + offset))
    })
  }
  const dropped = rollouts.slice(stepCount * globalBatchSize)
  if (dropped.length > 0) warnings.unshift(droppedWarning(dropped, globalBatchSize))
  return {
    partitions,
    microBatchIndices,
    numMicrobatches,
    globalBatchSizes: numMicrobatches.map(() => globalBatchSize),
    warnings,
  }
}

/** The number that the micro-batches of a step are a multiple of. */
function alignmentOf(options: ScheduleOptions): number {
  const { dpSize, vppSize = 1, microbatchGroupSize = 1 } = options
  return dpSize * (vppSize > 1 ? microbatchGroupSize : 1)
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

function samplesByRollout(rolloutIds: readonly (string | number)[]): number[][] {
  const rollouts = new Map<string | number, number[]>()
  rolloutIds.forEach((rolloutId, sample) => {
    const samples = rollouts.get(rolloutId)
    if (samples === undefined) rollouts.set(rolloutId, [sample])
    else samples.push(sample)
  })
  return [...rollouts.values()]
}

function alignStep(
  bins: readonly (readonly number[])[],
  lengths: readonly number[],
  place: { alignTo: number; step: number },
): ReturnType<typeof alignMicroBatches> {
  if (lengths.length >= place.alignTo) return alignMicroBatches(bins, lengths, place.alignTo)
  throw new ConfigError(
    'config_unschedulable',
    `Step ${place.step} has ${lengths.length} samples, fewer than the ${place.alignTo} micro-batches that it needs at least (data-parallel ranks × virtual-pipeline group); use fewer ranks, a smaller group or a larger global batch`,
    { details: { step: place.step, samples: lengths.length, alignTo: place.alignTo } },
  )
}

function capWarnings(found: {
  bins: readonly (readonly number[])[]
  lengths: readonly number[]
  capTokens: number
  step: number
  action: 'kept' | 'split' | 'repacked'
}): ScheduleWarning[] {
  const { bins, lengths, capTokens, step, action } = found
  const microBatches = bins.filter((bin) => loadOf(bin, lengths) > capTokens).length
  if (microBatches === 0 && action !== 'repacked') return []
  const peakTokens = peakOf(bins, lengths)
  const facts = { step, microBatches, peakTokens, capTokens }
  if (action === 'repacked') {
    const message = `Step ${step}: ${lengths.length} samples can't be split further, so they were repacked into ${bins.length} micro-batches; the peak is ${peakTokens} tokens of a target of ${capTokens}`
    return [{ code: 'repacked', message, ...facts }]
  }
  const message = `Step ${step}: ${microBatches} samples are longer than the cap of ${capTokens} tokens; the peak is ${peakTokens}`
  return [{ code: 'over_cap', message, ...facts }]
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
