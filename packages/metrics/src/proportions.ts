import { ValueError } from '@agentrl/spec'
import { checkConfidence, checkProportion, type Interval } from './confidence.ts'
import { fairCoinLowerTail, normalQuantileOfTail, normalTail } from './distributions.ts'

/**
 * Pass rates compared: one proportion with its interval, two independent ones,
 * and two runs over the same tasks.
 *
 * Sources: Wilson 1927 (score interval); Newcombe 1998, "Interval estimation
 * for the difference between independent proportions", method 10; McNemar 1947,
 * in the exact binomial form. Checked against statsmodels and SciPy.
 */

/**
 * The Wilson score interval of `passed` of `total` attempts: never outside
 * [0, 1], and sensible at 0 and at all. Throws `value_invalid` for counts that
 * are no proportion or a confidence outside (0, 1).
 *
 * @example
 * wilson(8, 10).low // → 0.49016247153664183
 */
export function wilson(passed: number, total: number, confidence = 0.95): Interval & { readonly rate: number } {
  checkProportion('passed', passed, total)
  checkConfidence(confidence)
  const rate = passed / total
  const z = normalQuantileOfTail((1 - confidence) / 2)
  const scale = 1 + (z * z) / total
  const centre = (rate + (z * z) / (2 * total)) / scale
  const spread = (z * Math.sqrt((rate * (1 - rate)) / total + (z * z) / (4 * total * total))) / scale
  return {
    rate,
    low: passed === 0 ? 0 : centre - spread,
    high: passed === total ? 1 : centre + spread,
    confidence,
  }
}

/** Two proportions that share no task. */
export interface TwoProportionComparison {
  /** First rate minus second. */
  readonly difference: number
  /** Newcombe's interval of the difference. */
  readonly interval: Interval
  /** Score statistic with the pooled variance; 0 when both rates are equal. */
  readonly z: number
  /** Two-sided. */
  readonly pValue: number
}

/**
 * The two-proportion z test with pooled variance, and Newcombe's interval of
 * the difference. For runs over different tasks or independent attempts; for
 * the same tasks use `mcnemar` or `bootstrapDifference`. Throws `value_invalid`
 * as `wilson`.
 *
 * @example
 * twoProportion({ passed: 45, total: 100 }, { passed: 30, total: 100 }).pValue // → 0.028459736916310624
 */
export function twoProportion(
  first: { readonly passed: number; readonly total: number },
  second: { readonly passed: number; readonly total: number },
  confidence = 0.95,
): TwoProportionComparison {
  const ofFirst = wilson(first.passed, first.total, confidence)
  const ofSecond = wilson(second.passed, second.total, confidence)
  const difference = ofFirst.rate - ofSecond.rate
  const pooled = (first.passed + second.passed) / (first.total + second.total)
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / first.total + 1 / second.total))
  const z = error === 0 ? 0 : difference / error
  return {
    difference,
    interval: {
      low: difference - Math.hypot(ofFirst.rate - ofFirst.low, ofSecond.high - ofSecond.rate),
      high: difference + Math.hypot(ofFirst.high - ofFirst.rate, ofSecond.rate - ofSecond.low),
      confidence,
    },
    z,
    pValue: Math.min(1, 2 * normalTail(Math.abs(z))),
  }
}

/** How two runs over the same tasks agree, task by task. */
export interface PairedOutcomes {
  readonly both: number
  readonly onlyFirst: number
  readonly onlySecond: number
  readonly neither: number
}

/**
 * Counts the tasks that both, one or none of two runs solved. Throws
 * `value_invalid` when the lists differ in length.
 *
 * @example
 * pairedOutcomes([true, true, false], [true, false, false]) // → { both: 1, onlyFirst: 1, onlySecond: 0, neither: 1 }
 */
export function pairedOutcomes(first: readonly boolean[], second: readonly boolean[]): PairedOutcomes {
  if (first.length !== second.length) {
    throw new ValueError(
      'value_invalid',
      `Paired runs have one outcome for each task: ${first.length} and ${second.length}`,
    )
  }
  const count = (isFirst: boolean, isSecond: boolean): number =>
    first.filter((passed, task) => passed === isFirst && second[task] === isSecond).length
  return {
    both: count(true, true),
    onlyFirst: count(true, false),
    onlySecond: count(false, true),
    neither: count(false, false),
  }
}

export interface McnemarResult {
  /** Tasks that exactly one of the runs solved: all that the test looks at. */
  readonly discordant: number
  /** Two-sided, exact: 2 · P(at most the smaller count, of `discordant` fair coins), at most 1. */
  readonly pValue: number
}

/**
 * McNemar's exact test: would two equally good runs differ on as lopsided a set
 * of tasks? Throws `value_invalid` for counts that are no integers of at least 0.
 *
 * @example
 * mcnemar({ onlyFirst: 10, onlySecond: 2 }).pValue // → 0.03857421875
 * // 2 · (1 + 12 + 66) / 4096
 */
export function mcnemar(outcomes: Pick<PairedOutcomes, 'onlyFirst' | 'onlySecond'>): McnemarResult {
  const { onlyFirst, onlySecond } = outcomes
  const discordant = onlyFirst + onlySecond
  if (![onlyFirst, onlySecond].every((count) => Number.isSafeInteger(count) && count >= 0)) {
    throw new ValueError(
      'value_invalid',
      `Counts are integers of at least 0, found onlyFirst ${onlyFirst}, onlySecond ${onlySecond}`,
    )
  }
  if (onlyFirst === onlySecond) return { discordant, pValue: 1 }
  return { discordant, pValue: Math.min(1, 2 * fairCoinLowerTail(Math.min(onlyFirst, onlySecond), discordant)) }
}
