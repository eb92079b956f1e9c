import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bootstrapDifference, bootstrapMean } from './bootstrap.ts'
import { studentQuantileOfTwoSidedTail, studentTwoSidedTail } from './distributions.ts'
import { lossWeights } from './loss-weights.ts'
import { trend, welch } from './means.ts'
import { percentiles } from './percentiles.ts'
import { mcnemar, pairedOutcomes, twoProportion, wilson } from './proportions.ts'

const invalid = expect.objectContaining({ code: 'value_invalid' })

describe('proportions', () => {
  test('a Wilson interval holds the rate, stays in [0, 1] and is closed at none and all', () => {
    const proportion = fc
      .integer({ min: 1, max: 500 })
      .chain((total) => fc.tuple(fc.integer({ min: 0, max: total }), fc.constant(total)))
    fc.assert(
      fc.property(proportion, ([passed, total]) => {
        const { rate, low, high } = wilson(passed, total)
        expect(low).toBeGreaterThanOrEqual(0)
        expect(low).toBeLessThanOrEqual(rate)
        expect(high).toBeGreaterThanOrEqual(rate)
        expect(high).toBeLessThanOrEqual(1)
      }),
    )
    expect(wilson(0, 5).low).toBe(0)
    expect(wilson(5, 5).high).toBe(1)
  })

  test('swapping the sides of a comparison mirrors it', () => {
    const [a, b] = [
      { passed: 7, total: 20 },
      { passed: 11, total: 25 },
    ]
    const [forward, backward] = [twoProportion(a, b), twoProportion(b, a)]
    expect(backward.difference).toBe(-forward.difference)
    expect(backward.pValue).toBe(forward.pValue)
    expect(backward.interval).toEqual({ low: -forward.interval.high, high: -forward.interval.low, confidence: 0.95 })
  })

  test('equal rates give z 0 and p 1, also where all or none passed', () => {
    const all = { passed: 4, total: 4 }
    expect(twoProportion(all, { passed: 9, total: 9 })).toMatchObject({ difference: 0, z: 0, pValue: 1 })
    expect(twoProportion({ passed: 0, total: 4 }, { passed: 0, total: 9 })).toMatchObject({ z: 0, pValue: 1 })
  })

  test('McNemar looks at what one run alone solved, and no difference gives p 1', () => {
    const outcomes = pairedOutcomes([true, true, true, false, false], [true, false, false, false, true])
    expect(outcomes).toEqual({ both: 1, onlyFirst: 2, onlySecond: 1, neither: 1 })
    // 2 · (1 + 3) / 8
    expect(mcnemar(outcomes)).toEqual({ discordant: 3, pValue: 1 })
    expect(mcnemar({ onlyFirst: 0, onlySecond: 0 })).toEqual({ discordant: 0, pValue: 1 })
    expect(mcnemar({ onlyFirst: 0, onlySecond: 5 }).pValue).toBe(2 / 32)
    expect(mcnemar({ onlyFirst: 5, onlySecond: 0 }).pValue).toBe(2 / 32)
  })

  test('counts that are no proportions are refused', () => {
    expect(() => wilson(3, 2)).toThrow(invalid)
    expect(() => wilson(-1, 2)).toThrow(invalid)
    expect(() => wilson(0, 0)).toThrow(invalid)
    expect(() => wilson(1, 2, 1)).toThrow(invalid)
    expect(() => mcnemar({ onlyFirst: 1.5, onlySecond: 0 })).toThrow(invalid)
    expect(() => mcnemar({ onlyFirst: -1, onlySecond: 2 })).toThrow(invalid)
    expect(() => pairedOutcomes([true], [])).toThrow(invalid)
  })
})

describe('means', () => {
  test('a run of 30 steps has 28 degrees of freedom', () => {
    const rates = Array.from({ length: 30 }, (_, step) => 0.254 + 0.01 * step + 0.05 * Math.sin(7 * step))
    expect(trend(rates).df).toBe(28)
  })

  test('t 4.19 with 28 degrees of freedom is p 0.00025', () => {
    expect(studentTwoSidedTail(4.19, 28)).toBeCloseTo(0.00025197, 8)
  })

  test('a statistic without error is 0 or infinite, never NaN', () => {
    expect(welch([2, 2], [2, 2, 2])).toMatchObject({ difference: 0, t: 0, df: 3, pValue: 1 })
    expect(welch([3, 3], [2, 2])).toMatchObject({
      t: Number.POSITIVE_INFINITY,
      pValue: 0,
      interval: { low: 1, high: 1 },
    })
    expect(trend([5, 5, 5])).toMatchObject({ slope: 0, t: 0, pValue: 1, rSquared: 0 })
    expect(trend([1, 2, 3])).toMatchObject({ slope: 1, t: Number.POSITIVE_INFINITY, pValue: 0, rSquared: 1 })
  })

  test('a quantile inverts its tail', () => {
    const cases = fc.tuple(
      fc.double({ min: 1e-9, max: 0.999, noNaN: true }),
      fc.double({ min: 0.8, max: 500, noNaN: true }),
    )
    fc.assert(
      fc.property(cases, ([tail, df]) => {
        expect(studentTwoSidedTail(studentQuantileOfTwoSidedTail(tail, df), df) / tail).toBeCloseTo(1, 9)
      }),
    )
  })

  test('too few, broken or unequal values are refused', () => {
    expect(() => welch([1], [1, 2])).toThrow(invalid)
    expect(() => welch([1, 2], [1, Number.NaN])).toThrow(invalid)
    expect(() => trend([1, 2])).toThrow(invalid)
    expect(() => trend([1, 2, 3], { x: [1, 2, 3, 4] })).toThrow(invalid)
    expect(() => trend([1, 2, 3], { x: [4, 4, 4] })).toThrow(invalid)
    expect(() => trend([1, 2, 3], { confidence: 0 })).toThrow(invalid)
  })
})

describe('bootstrap', () => {
  test('a seed repeats a result, and another gives another', () => {
    const rates = [0, 0.25, 0.5, 0.5, 1]
    expect(bootstrapMean(rates, { seed: 3 })).toEqual(bootstrapMean(rates, { seed: 3 }))
    expect(bootstrapMean(rates, { seed: 3 }).standardError).not.toBe(bootstrapMean(rates, { seed: 4 }).standardError)
  })

  test('a paired comparison removes what tasks differ in difficulty', () => {
    const second = Array.from({ length: 20 }, (_, task) => task / 20)
    const first = second.map((rate) => rate + 0.05)
    const paired = bootstrapDifference(first, second, { design: 'paired', resamples: 500 })
    const unpaired = bootstrapDifference(first, second, { design: 'unpaired', resamples: 500 })
    expect(paired.estimate).toBeCloseTo(0.05, 12)
    expect(paired.standardError).toBeLessThan(1e-12)
    expect(unpaired.standardError).toBeGreaterThan(0.05)
    expect(unpaired.interval.low).toBeLessThan(0)
  })

  test('sides, sizes and options out of range are refused', () => {
    expect(() => bootstrapMean([1])).toThrow(invalid)
    expect(() => bootstrapMean([1, 2], { resamples: 99 })).toThrow(invalid)
    expect(() => bootstrapMean([1, 2], { confidence: 2 })).toThrow(invalid)
    expect(() => bootstrapDifference([1, 2], [1], { design: 'paired' })).toThrow(invalid)
    expect(() => bootstrapDifference([1, 2], [1], { design: 'unpaired' })).toThrow(invalid)
    expect(() => percentiles([], [50])).toThrow(invalid)
    expect(() => percentiles([1], [101])).toThrow(invalid)
    expect(() => percentiles([1], [Number.NaN])).toThrow(invalid)
  })
})

describe('lossWeights', () => {
  const rows = { groupIds: ['a', 'a', 'b'], rolloutIds: [0, 0, 0], trainedTokens: [3, 1, 2] }

  test.each([
    ['per-rollout', [1 / 8, 1 / 8, 1 / 4]],
    ['per-segment', [1 / 9, 1 / 3, 1 / 6]],
    ['per-token', [1 / 6, 1 / 6, 1 / 6]],
  ] as const)('%s weights of two rollouts in three segments', (weighting, expected) => {
    expect(lossWeights({ ...rows, weighting })).toEqual(expected.map((weight) => expect.closeTo(weight, 15)))
  })

  test("Dr.GRPO's constant leaves length out of the denominator", () => {
    expect(lossWeights({ ...rows, weighting: 'constant', tokenBudget: 50 })).toEqual([0.01, 0.01, 0.01])
  })

  test('over a step, per-rollout weights of trained tokens sum to 1', () => {
    const segments = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 9 })), {
      minLength: 1,
      maxLength: 20,
    })
    fc.assert(
      fc.property(segments, (list) => {
        const trainedTokens = list.map(([, tokens]) => tokens)
        const rolloutIds = list.map(([rollout]) => rollout)
        const weights = lossWeights({
          groupIds: list.map(() => 0),
          rolloutIds,
          trainedTokens,
          weighting: 'per-rollout',
        })
        expect(weights.reduce((sum, weight, row) => sum + weight * (trainedTokens[row] ?? 0), 0)).toBeCloseTo(1, 12)
      }),
    )
  })

  test('a removed sample has no token and still counts as a rollout', () => {
    const weights = lossWeights({ groupIds: [0, 0], trainedTokens: [4, 0], weighting: 'per-rollout' })
    expect(weights).toEqual([1 / 8, 1 / 2])
  })

  test('broken columns, mask sums and budgets are refused', () => {
    expect(() => lossWeights({ ...rows, groupIds: [], weighting: 'per-token' })).toThrow(invalid)
    expect(() => lossWeights({ ...rows, rolloutIds: [], weighting: 'per-token' })).toThrow(invalid)
    expect(() => lossWeights({ ...rows, trainedTokens: [1, -1, 1], weighting: 'per-token' })).toThrow(invalid)
    expect(() => lossWeights({ ...rows, weighting: 'constant', tokenBudget: 0 })).toThrow(invalid)
  })
})
