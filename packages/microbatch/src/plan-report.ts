import { type AgentRlError, type ErrorCode, isAgentRlError, ValueError } from '@agentrl/spec'
import { type CapOverflow, capOverflow, type Relief } from './cap-overflow.ts'
import { tokenCost } from './cost-models.ts'
import type { StepStrategy } from './pack-step.ts'
import { planSchedule, type Schedule, type ScheduleOptions } from './plan-schedule.ts'
import { checkCount, loadOf, peakOf } from './weights.ts'

/**
 * A dry run of the micro-batch schedule: what a training step would look like,
 * what it would waste, which settings would do better, and whether to refuse it
 * before money is spent. Plain data, for a table or JSON.
 *
 * Padding is what slime's Megatron back end adds to packed sequences: with
 * context parallelism every sample is filled up to a multiple of 2 × cp, and
 * every micro-batch, on every context rank, to a multiple of tp × 128 tokens.
 *
 * Idle is what ranks wait for each other: they meet at the end of a step, so a
 * step takes as long as its most loaded rank.
 */

export interface PlanOptions extends Omit<ScheduleOptions, 'rolloutIds' | 'globalBatchSize'> {
  /** Default: every sample is a rollout of its own. */
  readonly rolloutIds?: readonly (string | number)[]
  /** Rollouts in a training step. Default: all of them in one step. */
  readonly globalBatchSize?: number
  /** Tensor-parallel ranks. Default 1. */
  readonly tpSize?: number
  /** Pipeline stages; only counts GPUs. Default 1. */
  readonly ppSize?: number
  /** A micro-batch is filled up to a multiple of tpSize × this. Default 128. */
  readonly padMultiplier?: number
  /** A peak of more than this many times the cap is refused; at least 1. Default 1. */
  readonly acceptedPeakRatio?: number
}

/** One micro-batch of the plan. */
export interface PlannedMicroBatch {
  readonly step: number
  readonly rank: number
  /** Its place among the micro-batches of its rank and step. */
  readonly position: number
  readonly samples: readonly number[]
  readonly tokens: number
  readonly isOverCap: boolean
}

/** What a schedule costs, whichever way it was packed. */
export interface PlanFigures {
  /** Micro-batches of all ranks and steps. */
  readonly microBatchCount: number
  readonly peakTokens: number
  /** Peak / cap. */
  readonly peakRatio: number
  /** Share of the micro-batches that are over the cap. */
  readonly overCapRatio: number
  /** Positions computed for nothing, as a share of all positions: tokens and padding. */
  readonly paddingWaste: number
  /** Share of rank time spent waiting for the most loaded rank, tokens taken as time. */
  readonly idleRatio: number
}

/** The same samples under another strategy or setting. */
export interface PlanAlternative {
  readonly change: string
  /** Null where that can't be scheduled either. */
  readonly figures: PlanFigures | null
}

/** Why a plan is refused. */
export interface PlanRefusal {
  readonly code: ErrorCode | 'peak_over_cap'
  readonly message: string
}

export interface PlanReport {
  readonly sampleCount: number
  readonly rolloutCount: number
  readonly stepCount: number
  readonly gpuCount: number
  readonly capTokens: number
  readonly totalTokens: number
  /** Empty when the plan can't be scheduled at all. */
  readonly microBatches: readonly PlannedMicroBatch[]
  readonly figures: PlanFigures | null
  readonly overflow: CapOverflow | null
  readonly warnings: Schedule['warnings']
  readonly alternatives: readonly PlanAlternative[]
  /** Null: go ahead. */
  readonly refusal: PlanRefusal | null
}

/**
 * The report. A plan that can't be scheduled or whose peak is over the accepted
 * ratio is reported with a `refusal`; broken arguments throw `value_invalid`.
 *
 * @example
 * planReport({ lengths: [49000, 49000, 90000, 90000, 90000], dpSize: 3, maxTokensPerGpu: 96000 }).overflow.reliefs[0]
 * // → { setting: 'maxTokensPerGpu', value: 139000, message: 'raise maxTokensPerGpu from 96000 to 139000, if memory allows' }
 */
export function planReport(options: PlanOptions): PlanReport {
  const plan = completed(options)
  const base = {
    sampleCount: plan.lengths.length,
    rolloutCount: new Set(plan.rolloutIds).size,
    gpuCount: plan.dpSize * plan.cpSize * plan.tpSize * plan.ppSize,
    capTokens: plan.maxTokensPerGpu * plan.cpSize,
    totalTokens: plan.lengths.reduce((sum, length) => sum + length, 0),
  }
  const schedule = scheduleOrError(plan)
  if ('error' in schedule) {
    const { code, message } = schedule.error
    const nothing = { stepCount: 0, microBatches: [], figures: null, overflow: null, warnings: [] }
    return { ...base, ...nothing, alternatives: alternativesTo(plan), refusal: { code, message } }
  }
  const microBatches = microBatchesOf(schedule, plan)
  const figures = figuresOf(microBatches, plan)
  const overflow = overflowOf(schedule, plan)
  return {
    ...base,
    stepCount: schedule.numMicrobatches.length,
    microBatches,
    figures,
    overflow,
    warnings: schedule.warnings,
    alternatives: alternativesTo(plan),
    refusal: refusalOf(figures, overflow, plan.acceptedPeakRatio),
  }
}

/** Options with every default filled in. */
type Plan = ScheduleOptions & Required<Omit<PlanOptions, 'rankCost'>>

function completed(options: PlanOptions): Plan {
  const { lengths, rolloutIds = lengths.map((_, sample) => sample) } = options
  const plan: Plan = {
    cpSize: 1,
    tpSize: 1,
    ppSize: 1,
    vppSize: 1,
    microbatchGroupSize: 1,
    padMultiplier: 128,
    strategy: 'first-fit',
    acceptedPeakRatio: 1,
    globalBatchSize: Math.max(1, new Set(rolloutIds).size),
    ...options,
    rolloutIds,
  }
  const { tpSize, ppSize, padMultiplier, acceptedPeakRatio } = plan
  for (const [name, value] of Object.entries({ tpSize, ppSize, padMultiplier })) checkCount(name, value)
  if (!(acceptedPeakRatio >= 1)) {
    throw new ValueError('value_invalid', `acceptedPeakRatio is at least 1, found ${acceptedPeakRatio}`)
  }
  return plan
}

function scheduleOrError(plan: Plan): Schedule | { error: AgentRlError } {
  try {
    return planSchedule(plan)
  } catch (error) {
    if (isAgentRlError(error) && error.code === 'config_unschedulable') return { error }
    throw error
  }
}

function microBatchesOf(schedule: Schedule, plan: Plan): PlannedMicroBatch[] {
  const capTokens = plan.maxTokensPerGpu * plan.cpSize
  let first = 0
  return schedule.numMicrobatches.flatMap((count, step) => {
    const start = first
    first += count
    return schedule.microBatchIndices.flatMap((ofRank, rank) =>
      ofRank.slice(start, start + count).map((positions, position) => {
        const samples = positions.map((index) => schedule.partitions[rank]?.[index] as number)
        const tokens = loadOf(samples, plan.lengths)
        return { step, rank, position, samples, tokens, isOverCap: tokens > capTokens }
      }),
    )
  })
}

function figuresOf(microBatches: readonly PlannedMicroBatch[], plan: Plan): PlanFigures {
  const tokens = microBatches.reduce((sum, microBatch) => sum + microBatch.tokens, 0)
  const positions = microBatches.reduce((sum, { samples }) => sum + paddedTokens(samples, plan), 0)
  const peakTokens = peakOf(
    microBatches.map(({ samples }) => samples),
    plan.lengths,
  )
  return {
    microBatchCount: microBatches.length,
    peakTokens,
    peakRatio: peakTokens / (plan.maxTokensPerGpu * plan.cpSize),
    overCapRatio: microBatches.filter(({ isOverCap }) => isOverCap).length / microBatches.length,
    paddingWaste: 1 - tokens / positions,
    idleRatio: 1 - tokens / (plan.dpSize * slowestRanks(microBatches)),
  }
}

/** Positions that a micro-batch takes on all context ranks together. */
function paddedTokens(samples: readonly number[], plan: Plan): number {
  const { lengths, cpSize, tpSize, padMultiplier } = plan
  const chunk = cpSize === 1 ? 1 : 2 * cpSize
  const filled = samples.reduce((sum, sample) => sum + Math.ceil((lengths[sample] as number) / chunk) * chunk, 0)
  const unit = tpSize * padMultiplier
  return Math.ceil(filled / cpSize / unit) * unit * cpSize
}

/** Tokens of the most loaded rank of each step, summed over the steps. */
function slowestRanks(microBatches: readonly PlannedMicroBatch[]): number {
  const loads: number[][] = []
  for (const { step, rank, tokens } of microBatches) {
    const ofStep = loads[step] ?? []
    loads[step] = ofStep
    ofStep[rank] = (ofStep[rank] ?? 0) + tokens
  }
  return loads.reduce((sum, ofStep) => sum + Math.max(...ofStep), 0)
}

/** The overflow of all steps together. */
function overflowOf(schedule: Schedule, plan: Plan): CapOverflow {
  const bins = schedule.microBatchIndices.flatMap((ofRank, rank) =>
    ofRank.map((positions) => positions.map((index) => schedule.partitions[rank]?.[index] as number)),
  )
  const { lengths, maxTokensPerGpu, cpSize, dpSize } = plan
  const groupSize = plan.vppSize > 1 ? plan.microbatchGroupSize : 1
  const isRepacked = schedule.warnings.some(({ code }) => code === 'repacked')
  return capOverflow({ bins, lengths, maxTokensPerGpu, cpSize, dpSize, groupSize, isRepacked })
}

const strategies: readonly StepStrategy[] = ['first-fit', 'lpt', 'karmarkar-karp', 'best']

/** Every other strategy, ranks balanced by tokens, and twice and half the data-parallel ranks. */
function alternativesTo(plan: Plan): PlanAlternative[] {
  const changes: [string, Partial<Plan>][] = strategies
    .filter((strategy) => strategy !== plan.strategy)
    .map((strategy) => [`strategy ${strategy}`, { strategy }])
  if (plan.rankCost === undefined) changes.push(['ranks balanced by tokens', { rankCost: tokenCost }])
  if (plan.dpSize % 2 === 0) changes.push([`dp ${plan.dpSize / 2}`, { dpSize: plan.dpSize / 2 }])
  changes.push([`cp ${plan.cpSize * 2}`, { cpSize: plan.cpSize * 2 }])
  return changes.map(([change, changed]) => {
    const alternative = { ...plan, ...changed }
    const schedule = scheduleOrError(alternative)
    const figures = 'error' in schedule ? null : figuresOf(microBatchesOf(schedule, alternative), alternative)
    return { change, figures }
  })
}

function refusalOf(figures: PlanFigures, overflow: CapOverflow, acceptedPeakRatio: number): PlanRefusal | null {
  if (figures.peakRatio <= acceptedPeakRatio) return null
  const advice = overflow.reliefs.map(({ message }: Relief) => message).join(', or ')
  return {
    code: 'peak_over_cap',
    message: `the peak of ${overflow.peakTokens} tokens is ${figures.peakRatio.toFixed(2)} times the cap of ${overflow.capTokens}, and ${acceptedPeakRatio} is accepted; ${advice}`,
  }
}
