import { seededRandom, ValueError } from '@agentrl/spec'
import { checkConfidence, checkValues, type Interval } from './confidence.ts'
import { meanOf } from './means.ts'
import { percentiles } from './percentiles.ts'

/**
 * The bootstrap over tasks. Attempts at one task are not independent, tasks
 * are: so tasks are drawn with replacement, each with all that was measured on
 * it (its pass rate over the attempts), and the mean is taken anew. Two runs
 * over the same tasks are compared by the differences, task by task, which
 * removes what tasks differ in difficulty.
 *
 * Percentile intervals (Efron and Tibshirani 1993, chapter 13). The source of
 * randomness is seeded (mulberry32), and the seed is in the result.
 */
export interface BootstrapOptions {
  /** Default 0.95. */
  readonly confidence?: number
  /** Resamples; at least 100. Default 10,000. */
  readonly resamples?: number
  /** Default 1. */
  readonly seed?: number
}

export interface BootstrapResult {
  /** The mean over the tasks as they are. */
  readonly estimate: number
  readonly interval: Interval
  /** Standard deviation of the resampled estimates. */
  readonly standardError: number
  readonly resamples: number
  readonly seed: number
}

/**
 * The mean of one value for each task, for example its pass rate, with an
 * interval. O(tasks × resamples). Throws `value_invalid` for fewer than two
 * tasks, values that are not finite, or options out of range.
 *
 * @example
 * bootstrapMean([0.25, 0.5, 0.75], { seed: 7 }).estimate // → 0.5
 */
export function bootstrapMean(values: readonly number[], options: BootstrapOptions = {}): BootstrapResult {
  checkValues('values', values, 2)
  const random = seededRandom(options.seed ?? 1)
  return summarize(meanOf(values), () => resampledMean(values, random), options)
}

/**
 * Mean of the first minus mean of the second. `paired`: entry i of both is the
 * same task. `unpaired`: the tasks differ, and each side is drawn by itself.
 * Throws `value_invalid` as `bootstrapMean`, and when paired sides differ in length.
 *
 * @example
 * bootstrapDifference([1, 0.5], [0.5, 0.5], { design: 'paired' }).estimate // → 0.25
 */
export function bootstrapDifference(
  first: readonly number[],
  second: readonly number[],
  options: BootstrapOptions & { readonly design: 'paired' | 'unpaired' },
): BootstrapResult {
  if (options.design === 'paired') {
    if (first.length !== second.length) {
      throw new ValueError(
        'value_invalid',
        `Paired sides have one value for each task: ${first.length} and ${second.length}`,
      )
    }
    return bootstrapMean(
      first.map((value, task) => value - (second[task] as number)),
      options,
    )
  }
  checkValues('first', first, 2)
  checkValues('second', second, 2)
  const random = seededRandom(options.seed ?? 1)
  return summarize(
    meanOf(first) - meanOf(second),
    () => resampledMean(first, random) - resampledMean(second, random),
    options,
  )
}

function summarize(estimate: number, draw: () => number, options: BootstrapOptions): BootstrapResult {
  const { confidence = 0.95, resamples = 10_000, seed = 1 } = options
  checkConfidence(confidence)
  if (!Number.isSafeInteger(resamples) || resamples < 100) {
    throw new ValueError('value_invalid', `resamples is an integer of at least 100, found ${resamples}`)
  }
  const estimates = Array.from({ length: resamples }, draw)
  const tail = (100 * (1 - confidence)) / 2
  const [low = estimate, high = estimate] = percentiles(estimates, [tail, 100 - tail])
  const mean = meanOf(estimates)
  const squares = meanOf(estimates.map((value) => (value - mean) ** 2))
  return {
    estimate,
    interval: { low, high, confidence },
    standardError: Math.sqrt((squares * resamples) / (resamples - 1)),
    resamples,
    seed,
  }
}

function resampledMean(values: readonly number[], random: () => number): number {
  let sum = 0
  for (let draw = 0; draw < values.length; draw += 1) sum += values[Math.floor(random() * values.length)] as number
  return sum / values.length
}
