import { checkValues } from './confidence.ts'
import { percentiles } from './percentiles.ts'

/**
 * How a batch of attempts went, apart from what it teaches. A rate is over the
 * attempts that say whether they did; where none says, it is null and not 0.
 */

/** What is known of one attempt. */
export interface AttemptRecord {
  readonly status: 'completed' | 'truncated' | 'aborted'
  /** Why infrastructure ended it, for example `wall_clock_timeout`. Default, when aborted: `unknown`. */
  readonly abortReason?: string
  /** Null: not graded. */
  readonly reward: number | null
  readonly isEmptyPatch?: boolean
  /** A reply of it broke its tool-call format. */
  readonly isIllFormed?: boolean
  readonly elapsedMs?: number
  /** Departures of its prompts from its history, by cause. */
  readonly driftCauses?: Readonly<Record<string, number>>
  /** Tokens that engines sampled for it. */
  readonly sampledTokens?: number
  /** Tokens of it that are trained. */
  readonly trainedTokens?: number
}

/** A share and what it is of. */
export interface Rate {
  readonly count: number
  readonly of: number
  /** count / of; null when of is 0. */
  readonly rate: number | null
}

export interface RolloutHealth {
  readonly attemptCount: number
  readonly completed: Rate
  readonly truncated: Rate
  readonly aborted: Rate
  /** Aborted attempts by reason, most frequent first. */
  readonly abortReasons: Readonly<Record<string, number>>
  /** Attempts with a grade. */
  readonly graded: Rate
  /** Solved, of the graded attempts. */
  readonly solved: Rate
  readonly emptyPatch: Rate
  readonly illFormed: Rate
  /** Null without a time. */
  readonly elapsedMs: {
    readonly mean: number
    readonly p50: number
    readonly p90: number
    readonly p95: number
    readonly p99: number
    readonly max: number
  } | null
  /** Occurrences over all attempts, most frequent first. */
  readonly driftCauses: Readonly<Record<string, number>>
  /** Trained tokens, of the sampled ones. */
  readonly trained: Rate
}

export interface RolloutHealthOptions {
  /** What counts as solved. Default: a reward of exactly 1. */
  readonly isPass?: (reward: number) => boolean
}

/**
 * The rates of a batch. Throws `value_invalid` for an elapsed time that is not finite.
 *
 * @example
 * rolloutHealth([{ status: 'completed', reward: 1 }, { status: 'aborted', reward: null }]).solved
 * // → { count: 1, of: 1, rate: 1 }
 */
export function rolloutHealth(attempts: readonly AttemptRecord[], options: RolloutHealthOptions = {}): RolloutHealth {
  const { isPass = (reward: number) => reward === 1 } = options
  const withStatus = (status: AttemptRecord['status']): Rate =>
    rateOf(attempts.map((attempt) => attempt.status === status))
  const rewards = attempts.flatMap(({ reward }) => (reward === null ? [] : [reward]))
  const aborted = attempts.filter(({ status }) => status === 'aborted')
  const counted = attempts.flatMap(({ sampledTokens, trainedTokens }) =>
    sampledTokens === undefined || trainedTokens === undefined ? [] : [{ sampledTokens, trainedTokens }],
  )
  return {
    attemptCount: attempts.length,
    completed: withStatus('completed'),
    truncated: withStatus('truncated'),
    aborted: withStatus('aborted'),
    abortReasons: tally(aborted.map(({ abortReason = 'unknown' }) => ({ [abortReason]: 1 }))),
    graded: rateOf(attempts.map(({ reward }) => reward !== null)),
    solved: rateOf(rewards.map(isPass)),
    emptyPatch: rateOf(attempts.map(({ isEmptyPatch }) => isEmptyPatch)),
    illFormed: rateOf(attempts.map(({ isIllFormed }) => isIllFormed)),
    elapsedMs: elapsedOf(attempts.flatMap(({ elapsedMs }) => (elapsedMs === undefined ? [] : [elapsedMs]))),
    driftCauses: tally(attempts.flatMap(({ driftCauses }) => (driftCauses === undefined ? [] : [driftCauses]))),
    trained: share(
      counted.reduce((sum, { trainedTokens }) => sum + trainedTokens, 0),
      counted.reduce((sum, { sampledTokens }) => sum + sampledTokens, 0),
    ),
  }
}

function share(count: number, of: number): Rate {
  return { count, of, rate: of === 0 ? null : count / of }
}

/** The share of `true` among the known ones. */
function rateOf(flags: readonly (boolean | undefined)[]): Rate {
  const known = flags.filter((flag) => flag !== undefined)
  return share(known.filter((flag) => flag).length, known.length)
}

function tally(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const totals = new Map<string, number>()
  for (const [name, count] of counts.flatMap((entry) => Object.entries(entry))) {
    totals.set(name, (totals.get(name) ?? 0) + count)
  }
  return Object.fromEntries([...totals].sort((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1)))
}

function elapsedOf(times: readonly number[]): RolloutHealth['elapsedMs'] {
  if (times.length === 0) return null
  checkValues('elapsedMs', times, 1)
  const [p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0] = percentiles(times, [50, 90, 95, 99, 100])
  return { mean: times.reduce((sum, time) => sum + time, 0) / times.length, p50, p90, p95, p99, max }
}
