import { describe, expect, test } from 'vitest'
import { diagnoseConfiguration, diagnoseGroups } from './diagnose-groups.ts'

const codes = (problems: readonly { code: string }[]): string[] => problems.map(({ code }) => code)

describe('diagnoseConfiguration', () => {
  test.each([
    [{ groupSize: 8, temperature: 1 }, []],
    [{ groupSize: 1, temperature: 1 }, ['single_attempt']],
    [{ groupSize: 8, temperature: 0 }, ['greedy_sampling']],
    [{ groupSize: 1, temperature: 0 }, ['single_attempt', 'greedy_sampling']],
  ])('%j has the problems %j', (settings, expected) => {
    const problems = diagnoseConfiguration(settings)
    expect(codes(problems)).toEqual(expected)
    expect(problems.every(({ severity }) => severity === 'error')).toBe(true)
  })

  test.each([
    { groupSize: 0, temperature: 1 },
    { groupSize: 1.5, temperature: 1 },
    { groupSize: 2, temperature: -1 },
    { groupSize: 2, temperature: Number.NaN },
  ])('%j is refused', (settings) => {
    expect(() => diagnoseConfiguration(settings)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
  })
})

describe('diagnoseGroups', () => {
  test('groups split into mixed, all pass, all fail and too few graded', () => {
    const diagnosis = diagnoseGroups({
      rewards: [1, 0, 1, 1, 0.5, 0.5, 1, null, 1, 1],
      groupIds: ['mixed', 'mixed', 'pass', 'pass', 'fail', 'fail', 'few', 'few', 'few', 'few'],
      rolloutIds: [0, 1, 0, 1, 0, 1, 0, 1, 0, 0],
      groupSize: 2,
    })
    expect(diagnosis.outcomes).toEqual([
      { groupId: 'mixed', outcome: 'mixed' },
      { groupId: 'pass', outcome: 'all-pass' },
      { groupId: 'fail', outcome: 'all-fail' },
      { groupId: 'few', outcome: 'too-few-graded' },
    ])
    expect(diagnosis.counts).toEqual({ mixed: 1, 'all-pass': 1, 'all-fail': 1, 'too-few-graded': 1 })
    expect(diagnosis.effectiveBatch).toEqual({ attempts: 2, ofAttempts: 8, fraction: 0.25 })
    expect(diagnosis.partialGroups).toEqual({ groupIds: ['few'], missingAttempts: 1, meanRewardGap: 1 - 4 / 6 })
    expect(codes(diagnosis.problems)).toEqual(['partial_groups'])
  })

  test('a batch without a mixed group has no gradient, and zero-gradient settings are named', () => {
    const diagnosis = diagnoseGroups({ rewards: [1, 0], groupIds: ['a', 'b'], groupSize: 1, temperature: 0 })
    expect(codes(diagnosis.problems)).toEqual(['single_attempt', 'greedy_sampling', 'no_mixed_group'])
  })

  test('an empty batch has nothing to say', () => {
    const diagnosis = diagnoseGroups({ rewards: [], groupIds: [], groupSize: 4 })
    expect(diagnosis.problems).toEqual([])
    expect(diagnosis.effectiveBatch.fraction).toBe(0)
  })

  test('a task that passes untouched and empty patches that pay are problems', () => {
    const columns = { rewards: [1, 0, 0, 0.5], groupIds: ['a', 'a', 'b', 'b'], groupSize: 2 }
    const trapped = diagnoseGroups({ ...columns, isEmptyPatch: [true, false, true, false] })
    expect(trapped.doNothing).toEqual({
      emptyPatchAttempts: 2,
      passedEmptyGroupIds: ['a'],
      meanCentredReward: (0.5 - 0.25) / 2,
    })
    expect(codes(trapped.problems)).toEqual(['empty_patch_passes', 'do_nothing_trap'])
    const healthy = diagnoseGroups({ ...columns, isEmptyPatch: [false, true, true, false] })
    expect(healthy.doNothing).toEqual({
      emptyPatchAttempts: 2,
      passedEmptyGroupIds: [],
      meanCentredReward: (-0.5 - 0.25) / 2,
    })
    expect(codes(healthy.problems)).toEqual([])
    expect(diagnoseGroups(columns).doNothing).toBeNull()
  })

  test('empty-patch flags of another length are refused', () => {
    expect(() => diagnoseGroups({ rewards: [1], groupIds: [0], groupSize: 2, isEmptyPatch: [] })).toThrow(
      expect.objectContaining({ code: 'value_invalid' }),
    )
  })
})
