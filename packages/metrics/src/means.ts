import { ValueError } from '@agentrl/spec'
import { checkConfidence, checkValues, type Interval } from './confidence.ts'
import { studentQuantileOfTwoSidedTail, studentTwoSidedTail } from './distributions.ts'

/**
 * Means compared, and a line through a run.
 *
 * Sources: Welch 1947 with Satterthwaite's degrees of freedom; ordinary least
 * squares with an intercept. Checked against SciPy and statsmodels.
 *
 * A statistic whose standard error is 0 is 0 where there is no difference, and
 * infinite with p 0 where there is one: never NaN.
 */

export interface WelchResult {
  /** Mean of the first minus mean of the second. */
  readonly difference: number
  readonly interval: Interval
  readonly t: number
  /** Satterthwaite's, seldom an integer. */
  readonly df: number
  /** Two-sided. */
  readonly pValue: number
}

/**
 * Welch's t test of two independent samples that may differ in variance.
 * Throws `value_invalid` for fewer than two values on a side, a value that is
 * not finite, or a confidence outside (0, 1).
 *
 * @example
 * welch([1, 2, 3, 4], [2, 4, 6, 8]).df // → 75 / 17
 */
export function welch(first: readonly number[], second: readonly number[], confidence = 0.95): WelchResult {
  checkValues('first', first, 2)
  checkValues('second', second, 2)
  checkConfidence(confidence)
  const a = squaredErrorOfMean(first)
  const b = squaredErrorOfMean(second)
  const difference = meanOf(first) - meanOf(second)
  const error = Math.sqrt(a + b)
  const df =
    error === 0
      ? first.length + second.length - 2
      : (a + b) ** 2 / (a ** 2 / (first.length - 1) + b ** 2 / (second.length - 1))
  return { difference, ...studentTest({ estimate: difference, error, df, confidence }) }
}

export interface TrendResult {
  /** Change of y for one unit of x. */
  readonly slope: number
  readonly intercept: number
  /** Standard error of the slope. */
  readonly standardError: number
  readonly t: number
  /** Points minus 2: 28 for a run of 30 steps. */
  readonly df: number
  /** Two-sided, of a slope of 0. */
  readonly pValue: number
  /** Of the slope. */
  readonly interval: Interval
  /** Share of the variance that the line explains; 0 for constant values. */
  readonly rSquared: number
}

export interface TrendOptions {
  /** Where the values lie. Default 0, 1, 2 … */
  readonly x?: readonly number[]
  /** Default 0.95. */
  readonly confidence?: number
}

/**
 * The least-squares line through a series, with the t test of its slope.
 * Residuals are taken as independent; steps of one run seldom quite are, so
 * read p as a lower bound. Throws `value_invalid` for fewer than three points,
 * values that are not finite, x of another length or all x equal.
 *
 * @example
 * trend([1, 2, 2, 3]).slope // → 0.6
 */
export function trend(values: readonly number[], options: TrendOptions = {}): TrendResult {
  const { x = values.map((_, step) => step), confidence = 0.95 } = options
  checkValues('values', values, 3)
  checkValues('x', x, 3)
  checkConfidence(confidence)
  if (x.length !== values.length) {
    throw new ValueError('value_invalid', `x has ${x.length} entries for ${values.length} values`)
  }
  const meanX = meanOf(x)
  const meanY = meanOf(values)
  const spreadX = sumOf(x.map((value) => (value - meanX) ** 2))
  const spreadY = sumOf(values.map((value) => (value - meanY) ** 2))
  if (spreadX === 0) throw new ValueError('value_invalid', 'All x are equal: there is no line through them')
  const slope = sumOf(x.map((value, point) => (value - meanX) * ((values[point] as number) - meanY))) / spreadX
  const residual = sumOf(x.map((value, point) => ((values[point] as number) - meanY - slope * (value - meanX)) ** 2))
  const df = values.length - 2
  const standardError = Math.sqrt(residual / df / spreadX)
  return {
    slope,
    intercept: meanY - slope * meanX,
    standardError,
    ...studentTest({ estimate: slope, error: standardError, df, confidence }),
    rSquared: spreadY === 0 ? 0 : 1 - residual / spreadY,
  }
}

function studentTest(found: { estimate: number; error: number; df: number; confidence: number }): {
  t: number
  df: number
  pValue: number
  interval: Interval
} {
  const { estimate, error, df, confidence } = found
  const t = estimate === 0 ? 0 : estimate / error
  const margin = error * studentQuantileOfTwoSidedTail(1 - confidence, df)
  return {
    t,
    df,
    pValue: studentTwoSidedTail(t, df),
    interval: { low: estimate - margin, high: estimate + margin, confidence },
  }
}

/** The mean; the caller has checked that there are values. */
export function meanOf(values: readonly number[]): number {
  return sumOf(values) / values.length
}

/** The squared standard error of the mean, with n − 1. */
function squaredErrorOfMean(values: readonly number[]): number {
  const mean = meanOf(values)
  return sumOf(values.map((value) => (value - mean) ** 2)) / (values.length - 1) / values.length
}

/** Neumaier's compensated sum: long series keep their digits. */
function sumOf(values: readonly number[]): number {
  let sum = 0
  let lost = 0
  for (const value of values) {
    const next = sum + value
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
    sum = next
  }
  return sum + lost
}
