import { expect, test } from 'vitest'
import { rolloutHealth } from './rollout-health.ts'

test('a batch of four, worked by hand', () => {
  const health = rolloutHealth([
    {
      status: 'completed',
      reward: 1,
      isEmptyPatch: false,
      isIllFormed: true,
      elapsedMs: 100,
      driftCauses: { retokenization: 2, compaction: 1 },
      sampledTokens: 100,
      trainedTokens: 90,
    },
    { status: 'completed', reward: 0, isEmptyPatch: true, elapsedMs: 300, sampledTokens: 50, trainedTokens: 50 },
    { status: 'truncated', reward: 0, isEmptyPatch: true, driftCauses: { compaction: 2 }, sampledTokens: 10 },
    { status: 'aborted', reward: null, abortReason: 'wall_clock_timeout' },
  ])
  expect(health).toEqual({
    attemptCount: 4,
    completed: { count: 2, of: 4, rate: 0.5 },
    truncated: { count: 1, of: 4, rate: 0.25 },
    aborted: { count: 1, of: 4, rate: 0.25 },
    abortReasons: { wall_clock_timeout: 1 },
    graded: { count: 3, of: 4, rate: 0.75 },
    solved: { count: 1, of: 3, rate: 1 / 3 },
    emptyPatch: { count: 2, of: 3, rate: 2 / 3 },
    illFormed: { count: 1, of: 1, rate: 1 },
    elapsedMs: { mean: 200, p50: 200, p90: 280, p95: 290, p99: 298, max: 300 },
    driftCauses: { compaction: 3, retokenization: 2 },
    trained: { count: 140, of: 150, rate: 140 / 150 },
  })
})

test('what nobody says is null and not 0', () => {
  const health = rolloutHealth([{ status: 'aborted', reward: null }])
  expect(health).toMatchObject({
    abortReasons: { unknown: 1 },
    solved: { count: 0, of: 0, rate: null },
    emptyPatch: { rate: null },
    elapsedMs: null,
    trained: { rate: null },
  })
  expect(rolloutHealth([]).completed.rate).toBeNull()
})

test('the order of reasons is by count, then by name', () => {
  const aborted = (abortReason: string) => ({ status: 'aborted', reward: null, abortReason }) as const
  const { abortReasons } = rolloutHealth(['b', 'c', 'a', 'c'].map(aborted))
  expect(Object.entries(abortReasons)).toEqual([
    ['c', 2],
    ['a', 1],
    ['b', 1],
  ])
})

test('the rule for a solved attempt can be given, and a time that is not finite is refused', () => {
  const half = { status: 'completed', reward: 0.5 } as const
  expect(rolloutHealth([half], { isPass: (reward) => reward >= 0.5 }).solved.count).toBe(1)
  expect(rolloutHealth([half]).solved.count).toBe(0)
  expect(() => rolloutHealth([{ ...half, elapsedMs: Number.NaN }])).toThrow(
    expect.objectContaining({ code: 'value_invalid' }),
  )
})
