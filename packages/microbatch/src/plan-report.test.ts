import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planReport } from './plan-report.ts'

describe('planReport', () => {
  test('a plan that fits goes ahead, and its figures are worked by hand', () => {
    const report = planReport({
      lengths: [900, 300, 500, 800],
      dpSize: 2,
      cpSize: 2,
      tpSize: 4,
      ppSize: 2,
      padMultiplier: 16,
      maxTokensPerGpu: 500,
    })
    expect(report).toMatchObject({
      sampleCount: 4,
      rolloutCount: 4,
      stepCount: 1,
      gpuCount: 32,
      capTokens: 1000,
      totalTokens: 2500,
      refusal: null,
      warnings: [],
    })
    // First fit gives [900], [300, 500], [800]; the second is split into [500] and [300].
    expect(report.microBatches).toEqual([
      { step: 0, rank: 0, position: 0, samples: [0], tokens: 900, isOverCap: false },
      { step: 0, rank: 0, position: 1, samples: [3], tokens: 800, isOverCap: false },
      { step: 0, rank: 1, position: 0, samples: [2], tokens: 500, isOverCap: false },
      { step: 0, rank: 1, position: 1, samples: [1], tokens: 300, isOverCap: false },
    ])
    // Two context ranks pad to multiples of 4 · 16 each: 900 → 1024, 800 → 896, 500 → 512, 300 → 384.
    expect(report.figures).toEqual({
      microBatchCount: 4,
      peakTokens: 900,
      peakRatio: 0.9,
      overCapRatio: 0,
      paddingWaste: expect.closeTo(1 - 2500 / (1024 + 896 + 512 + 384), 14),
      idleRatio: expect.closeTo(1 - 2500 / (2 * 1700), 14),
    })
  })

  test('a peak that just reaches the cap goes ahead', () => {
    const plan = { lengths: [100], dpSize: 1, maxTokensPerGpu: 100 }
    expect(planReport(plan).refusal).toBeNull()
    expect(planReport({ ...plan, lengths: [101] }).refusal?.code).toBe('peak_over_cap')
  })

  test('context ranks fill every sample up to two chunks each', () => {
    // 3, 9 and 8 tokens on four ranks take 8, 16 and 8 positions; on one rank 3, 9 and 8.
    const plan = { lengths: [3, 9, 8], dpSize: 1, padMultiplier: 1, maxTokensPerGpu: 100 }
    expect(planReport({ ...plan, cpSize: 4 }).figures?.paddingWaste).toBe(1 - 20 / 32)
    expect(planReport(plan).figures?.paddingWaste).toBe(0)
  })

  test('a peak over the cap is refused with what would help, unless it is accepted', () => {
    const plan = { lengths: [49000, 49000, 90000, 90000, 90000], dpSize: 3, maxTokensPerGpu: 96000 }
    expect(planReport(plan).refusal).toEqual({
      code: 'peak_over_cap',
      message:
        'the peak of 139000 tokens is 1.45 times the cap of 96000, and 1 is accepted; raise maxTokensPerGpu from 96000 to 139000, if memory allows, or raise cpSize from 1 to 2, or add 1 removed samples that share a rollout id with others, so that 6 is a multiple of 3, or lower dpSize from 3 to 1: 5 samples are a multiple of 1',
    })
    expect(planReport({ ...plan, acceptedPeakRatio: 1.5 }).refusal).toBeNull()
  })

  test('what can not be scheduled is reported, with the alternatives that can', () => {
    const report = planReport({ lengths: [10, 10, 10], dpSize: 4, maxTokensPerGpu: 100 })
    expect(report).toMatchObject({
      stepCount: 0,
      microBatches: [],
      figures: null,
      overflow: null,
      refusal: { code: 'config_unschedulable', message: expect.stringContaining('3 samples, fewer than the 4') },
    })
    expect(report.alternatives.map(({ change, figures }) => [change, figures !== null])).toEqual([
      ['strategy lpt', false],
      ['strategy karmarkar-karp', false],
      ['strategy best', false],
      ['ranks balanced by tokens', false],
      ['dp 2', true],
      ['cp 2', false],
    ])
  })

  test('alternatives are figured with their own settings', () => {
    const report = planReport({ lengths: [40, 40, 60, 60], dpSize: 1, maxTokensPerGpu: 100 })
    const figures = Object.fromEntries(report.alternatives.map(({ change, figures }) => [change, figures]))
    expect(report.figures?.microBatchCount).toBe(3)
    expect(figures['strategy best']?.microBatchCount).toBe(2)
    expect(figures['cp 2']).toMatchObject({ microBatchCount: 1, peakTokens: 200, peakRatio: 1 })
  })

  test('micro-batches of several steps belong to their step', () => {
    const report = planReport({ lengths: [5, 6, 7, 8], dpSize: 1, maxTokensPerGpu: 6, globalBatchSize: 2 })
    expect(
      report.microBatches.map(({ step, position, samples, isOverCap }) => [step, position, samples, isOverCap]),
    ).toEqual([
      [0, 0, [0], false],
      [0, 1, [1], false],
      [1, 0, [2], true],
      [1, 1, [3], true],
    ])
    expect(report.figures?.overCapRatio).toBe(0.5)
  })

  test('ratios are shares', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(lengths, fc.constantFrom(1, 2, 4), fc.constantFrom(1, 2, 8), (samples, dpSize, cpSize) => {
        const { figures } = planReport({ lengths: samples, dpSize, cpSize, tpSize: 2, maxTokensPerGpu: 2048 })
        for (const share of figures === null ? [] : [figures.paddingWaste, figures.idleRatio, figures.overCapRatio]) {
          expect(share).toBeGreaterThanOrEqual(-1e-12)
          expect(share).toBeLessThanOrEqual(1)
        }
      }),
      { numRuns: 100 },
    )
  })

  test.each([{ acceptedPeakRatio: 0.5 }, { tpSize: 0 }, { padMultiplier: 1.5 }, { lengths: [0] }])(
    '%j is refused',
    (broken) => {
      expect(() => planReport({ lengths: [1], dpSize: 1, maxTokensPerGpu: 10, ...broken })).toThrow(
        expect.objectContaining({ code: 'value_invalid' }),
      )
    },
  )
})
