import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { segmentColumns } from './attempts.ts'
import { passAtK, passHatK } from './pass-at-k.ts'
import { groupedPassRate, passRate } from './pass-rate.ts'

/** All ways to choose `k` of `items`. */
function subsets<Item>(items: readonly Item[], k: number): Item[][] {
  if (k === 0) return [[]]
  return items.flatMap((item, index) => subsets(items.slice(index + 1), k - 1).map((rest) => [item, ...rest]))
}

const drawArbitrary = fc
  .integer({ min: 1, max: 9 })
  .chain((n) => fc.tuple(fc.constant(n), fc.integer({ min: 0, max: n }), fc.integer({ min: 1, max: n })))

describe('passAtK', () => {
  test('of six pairs of two correct and two wrong attempts, five hold a correct one', () => {
    expect(passAtK(4, 2, 2)).toBeCloseTo(5 / 6, 15)
    expect(passHatK(4, 2, 2)).toBeCloseTo(1 / 6, 15)
  })

  test('rounding never takes a chance above 1', () => {
    expect(passAtK(295, 111, 180)).toBe(1)
  })

  test('pass@1 is the share of correct attempts, exactly', () => {
    expect(passAtK(8, 3, 1)).toBe(3 / 8)
    expect(passHatK(8, 3, 1)).toBe(3 / 8)
  })

  test('the estimates equal the counts over all subsets', () => {
    fc.assert(
      fc.property(drawArbitrary, ([n, c, k]) => {
        const draws = subsets(
          Array.from({ length: n }, (_, index) => index < c),
          k,
        )
        const passed = draws.filter((draw) => draw.some((isCorrect) => isCorrect)).length / draws.length
        const allPassed = draws.filter((draw) => draw.every((isCorrect) => isCorrect)).length / draws.length
        expect(passAtK(n, c, k)).toBeCloseTo(passed, 13)
        expect(passHatK(n, c, k)).toBeCloseTo(allPassed, 13)
      }),
    )
  })

  test('a million attempts keep thirteen digits of a small chance', () => {
    // 1 − C(n−c, k)/C(n, k) in exact integers: c = 1 gives k / n.
    expect(passAtK(1_000_000, 1, 3)).toBeCloseTo(3e-6, 18)
    expect(passAtK(1_000_000, 3, 1)).toBe(3e-6)
    // c = 2: 1 − (1 − k/n)(1 − k/(n−1)), worked out to k(2n − 1 − k) / (n(n − 1)).
    const [n, k] = [1_000_000, 250_000]
    expect(passAtK(n, 2, k) / ((k * (2 * n - 1 - k)) / (n * (n - 1)))).toBeCloseTo(1, 13)
    expect(passAtK(n, 500_000, 500_000)).toBe(1)
    expect(passAtK(n, 10, 999_999)).toBe(1)
  })

  test.each([
    [4, 5, 1],
    [4, 1, 5],
    [4, -1, 1],
    [4, 1, 0],
    [4.5, 1, 1],
    [Number.NaN, 1, 1],
  ])('n %d, c %d, k %d is refused', (n, c, k) => {
    expect(() => passAtK(n, c, k)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
    expect(() => passHatK(n, c, k)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
  })
})

describe('groupedPassRate', () => {
  test('segments of one attempt count once', () => {
    const rates = groupedPassRate({
      rewards: [1, 1, 1, 0, 0, 0],
      groupIds: ['a', 'a', 'a', 'a', 'b', 'b'],
      rolloutIds: [0, 0, 0, 1, 0, 1],
      groupSize: 2,
    })
    expect(rates).toEqual({ 'pass@1': 0.25, 'pass@2': 0.5 })
  })

  test('fan-out changes nothing', () => {
    const attempts = fc.array(
      fc.record({
        groupId: fc.integer({ min: 0, max: 4 }),
        reward: fc.constantFrom(0, 1, null),
        rows: fc.integer({ min: 1, max: 4 }),
      }),
      { minLength: 1, maxLength: 30 },
    )
    fc.assert(
      fc.property(attempts, (list) => {
        const numbered = list.map((attempt, rolloutId) => ({ ...attempt, rolloutId }))
        const once = segmentColumns(numbered.map((attempt) => ({ ...attempt, attemptReward: attempt.reward })))
        const fanned = segmentColumns(
          numbered.flatMap((attempt) =>
            Array.from({ length: attempt.rows }, (_, segment) => ({
              ...attempt,
              attemptReward: attempt.reward,
              segmentReward: segment,
            })),
          ),
        )
        expect(groupedPassRate({ ...fanned, groupSize: 8 })).toEqual(groupedPassRate({ ...once, groupSize: 8 }))
      }),
    )
  })

  test('a k that no group reaches is left out, and a group below k stays out of it', () => {
    expect(groupedPassRate({ rewards: [1, 0, 0, 0], groupIds: [0, 0, 0, 1], groupSize: 8 })).toEqual({
      'pass@1': (1 / 3 + 0) / 2,
      'pass@2': expect.closeTo(2 / 3, 14),
    })
  })

  test('a null reward leaves n, and in the second figure counts as failed', () => {
    const columns = { rewards: [1, null, null, 0], groupIds: ['a', 'a', 'b', 'b'], groupSize: 2 }
    expect(groupedPassRate(columns)).toEqual({ 'pass@1': 0.5 })
    expect(groupedPassRate({ ...columns, nullReward: 'count-as-failed' })).toEqual({ 'pass@1': 0.25, 'pass@2': 0.5 })
  })

  test('conflicting rewards inside one attempt are an error that names it', () => {
    expect(() => groupedPassRate({ rewards: [1, 0], groupIds: [3, 3], rolloutIds: ['x', 'x'], groupSize: 2 })).toThrow(
      expect.objectContaining({
        code: 'value_invalid',
        message: expect.stringContaining('rollout x of group 3 has 1 in row 0 and 0 in row 1'),
      }),
    )
    expect(() => groupedPassRate({ rewards: [1, null], groupIds: [3, 3], rolloutIds: [0, 0], groupSize: 2 })).toThrow(
      expect.objectContaining({ code: 'value_invalid' }),
    )
  })

  test('a number and its text are two ids, and two groups may number their attempts alike', () => {
    expect(groupedPassRate({ rewards: [1, 0], groupIds: [1, '1'], rolloutIds: [0, 0], groupSize: 2 })).toEqual({
      'pass@1': 0.5,
    })
  })

  test('a reward counts as solved by the rule given', () => {
    const columns = { rewards: [0.5, 1], groupIds: [0, 0], groupSize: 1 }
    expect(groupedPassRate(columns)).toEqual({ 'pass@1': 0.5 })
    expect(groupedPassRate({ ...columns, isPass: (reward) => reward > 0 })).toEqual({ 'pass@1': 1 })
  })

  test('columns of different lengths, broken rewards and sizes are refused', () => {
    const invalid = expect.objectContaining({ code: 'value_invalid' })
    expect(() => groupedPassRate({ rewards: [1], groupIds: [0, 0], groupSize: 1 })).toThrow(invalid)
    expect(() => groupedPassRate({ rewards: [1], groupIds: [0], rolloutIds: [], groupSize: 1 })).toThrow(invalid)
    expect(() => groupedPassRate({ rewards: [Number.NaN], groupIds: [0], groupSize: 1 })).toThrow(invalid)
    expect(() => groupedPassRate({ rewards: [1], groupIds: [0], groupSize: 0 })).toThrow(invalid)
  })

  test('nothing graded gives no rate', () => {
    expect(groupedPassRate({ rewards: [null], groupIds: [0], groupSize: 1 })).toEqual({})
    expect(groupedPassRate({ rewards: [], groupIds: [], groupSize: 4 })).toEqual({})
  })
})

describe('passRate', () => {
  test('a fixed shape gives rates', () => {
    expect(passRate({ rewards: [1, 0, 0, 0], groupSize: 2 })).toEqual({
      kind: 'rates',
      rates: { 'pass@1': 0.25, 'pass@2': 0.5 },
    })
  })

  test.each([[[1, 0, 0]], [[]]])('%j does not divide into pairs: a typed problem', (rewards) => {
    expect(passRate({ rewards, groupSize: 2 })).toMatchObject({
      kind: 'problem',
      problem: { code: 'pass_rate_shape', severity: 'error', details: { rewards: rewards.length, groupSize: 2 } },
    })
  })
})
