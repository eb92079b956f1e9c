import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Id } from './attempts.ts'
import { groupAdvantages } from './group-advantages.ts'

const pair = { rewards: [1, 1, 0], groupIds: ['a', 'a', 'a'], rolloutIds: [0, 0, 1] }

describe('groupAdvantages', () => {
  test.each([
    // mean 1/2, sample standard deviation √(1/2)
    ['grpo', 0.5 / (Math.SQRT1_2 + 1e-6)],
    ['grpo-mean', 0.5],
    ['dr-grpo', 0.5],
    ['rloo', 1],
  ] as const)('%s of one pass and one failure, worked by hand', (estimator, expected) => {
    const { advantages, isValid, droppedGroups } = groupAdvantages({ ...pair, estimator })
    expect(advantages).toEqual([
      expect.closeTo(expected, 14),
      expect.closeTo(expected, 14),
      expect.closeTo(-expected, 14),
    ])
    expect(isValid).toEqual([true, true, true])
    expect(droppedGroups).toEqual([])
  })

  test('ddof 0 and another epsilon are taken', () => {
    const { advantages, groups } = groupAdvantages({ ...pair, ddof: 0, epsilon: 0.5 })
    expect(advantages).toEqual([0.5, 0.5, -0.5])
    expect(groups).toEqual([{ groupId: 'a', gradedAttempts: 2, mean: 0.5, std: 0.5 }])
  })

  test('a null reward leaves the baseline and gets 0', () => {
    const { advantages, isValid } = groupAdvantages({
      rewards: [1, null, 0, null],
      groupIds: [0, 0, 0, 0],
      estimator: 'grpo-mean',
    })
    expect(advantages).toEqual([0.5, 0, -0.5, 0])
    expect(isValid).toEqual([true, false, true, false])
  })

  test('a group with fewer than two graded attempts is dropped by name', () => {
    const { advantages, droppedGroups, groups } = groupAdvantages({
      rewards: [1, 1, null, null, 1, 0],
      groupIds: ['lone', 'lone', 'lone', 'none', 'kept', 'kept'],
      rolloutIds: [0, 0, 1, 0, 0, 1],
      estimator: 'rloo',
    })
    expect(advantages).toEqual([0, 0, 0, 0, 1, -1])
    expect(groups.map(({ groupId }) => groupId)).toEqual(['kept'])
    expect(droppedGroups).toEqual([
      { groupId: 'lone', reason: 'fewer-than-two-graded', gradedAttempts: 1 },
      { groupId: 'none', reason: 'fewer-than-two-graded', gradedAttempts: 0 },
    ])
  })

  test('equal rewards give exactly 0, whatever their mean rounds to', () => {
    const rewards = [0.1, 0.1, 0.1]
    expect(rewards.reduce((sum, reward) => sum + reward, 0) / 3).not.toBe(0.1)
    const { advantages, groups } = groupAdvantages({ rewards, groupIds: [0, 0, 0], epsilon: 0 })
    expect(advantages).toEqual([0, 0, 0])
    expect(groups[0]?.std).toBe(0)
  })

  const batch = fc.record({
    estimator: fc.constantFrom('grpo', 'grpo-mean', 'dr-grpo', 'rloo'),
    attempts: fc.array(
      fc.record({
        groupId: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom<Id>('0', 'x')),
        reward: fc.option(fc.double({ min: -10, max: 10, noNaN: true })),
        rows: fc.integer({ min: 1, max: 3 }),
      }),
      { maxLength: 25 },
    ),
  })

  test('over the attempts of a group advantages sum to 0 and are finite, and segments share theirs', () => {
    fc.assert(
      fc.property(batch, ({ estimator, attempts }) => {
        const rows = attempts.flatMap(({ rows: count, ...attempt }, rolloutId) =>
          Array.from({ length: count }, (_, segment) => ({ ...attempt, rolloutId, isFirst: segment === 0 })),
        )
        const { advantages } = groupAdvantages({
          rewards: rows.map(({ reward }) => reward),
          groupIds: rows.map(({ groupId }) => groupId),
          rolloutIds: rows.map(({ rolloutId }) => rolloutId),
          estimator,
        })
        const sums = new Map<Id, number>()
        rows.forEach(({ groupId, isFirst, rolloutId }, row) => {
          const first = rows.findIndex((other) => other.rolloutId === rolloutId)
          expect(advantages[row]).toBe(advantages[first])
          if (isFirst) sums.set(groupId, (sums.get(groupId) ?? 0) + (advantages[row] ?? Number.NaN))
        })
        for (const sum of sums.values()) expect(sum).toBeCloseTo(0, 9)
      }),
    )
  })

  test('token weights come along when they are asked for', () => {
    const weighting = { weighting: 'per-rollout', trainedTokens: [3, 1, 2] } as const
    expect(groupAdvantages({ ...pair, lossWeighting: weighting }).tokenWeights).toEqual([1 / 8, 1 / 8, 1 / 4])
    expect(groupAdvantages(pair).tokenWeights).toBeNull()
  })

  test('a negative epsilon is refused', () => {
    expect(() => groupAdvantages({ ...pair, epsilon: -1 })).toThrow(expect.objectContaining({ code: 'value_invalid' }))
  })
})
