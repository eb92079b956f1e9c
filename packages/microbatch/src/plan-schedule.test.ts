import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenCost } from './cost-models.ts'
import { planSchedule, type ScheduleOptions } from './plan-schedule.ts'

const optionsArbitrary: fc.Arbitrary<ScheduleOptions> = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 0, max: 30 })), { minLength: 1, maxLength: 60 })
  .chain((samples) =>
    fc.record(
      {
        lengths: fc.constant(samples.map(([length]) => length)),
        rolloutIds: fc.constant(samples.map(([, rollout]) => rollout)),
        dpSize: fc.constantFrom(1, 2, 3, 4, 8),
        maxTokensPerGpu: fc.constantFrom(500, 1000, 4096),
        globalBatchSize: fc.integer({ min: 1, max: new Set(samples.map(([, rollout]) => rollout)).size }),
        cpSize: fc.constantFrom(1, 2, 4),
        vppSize: fc.constantFrom(1, 2),
        microbatchGroupSize: fc.constantFrom(1, 2, 3),
        strategy: fc.constantFrom('first-fit', 'lpt', 'karmarkar-karp', 'best'),
        rankCost: fc.constant(tokenCost),
      },
      { requiredKeys: ['lengths', 'rolloutIds', 'dpSize', 'maxTokensPerGpu', 'globalBatchSize'] },
    ),
  )

function alignmentOf({ dpSize, vppSize = 1, microbatchGroupSize = 1 }: ScheduleOptions): number {
  return dpSize * (vppSize > 1 ? microbatchGroupSize : 1)
}

/** The schedule, or null where it is refused for the reason it should be. */
function scheduleUnlessTooSmall(options: ScheduleOptions): ReturnType<typeof planSchedule> | null {
  try {
    return planSchedule(options)
  } catch (error) {
    expect(error).toMatchObject({ name: 'ConfigError', code: 'config_unschedulable' })
    return null
  }
}

/** Micro-batches as lists of samples, of all ranks and steps. */
function microBatchesOf(schedule: ReturnType<typeof planSchedule>): (number | undefined)[][] {
  return schedule.microBatchIndices.flatMap((ofRank, rank) =>
    ofRank.map((positions) => positions.map((position) => schedule.partitions[rank]?.[position])),
  )
}

describe('planSchedule', () => {
  test('places every sample exactly once, or names it as dropped', () => {
    fc.assert(
      fc.property(optionsArbitrary, (options) => {
        const schedule = scheduleUnlessTooSmall(options)
        if (schedule === null) return
        const dropped = schedule.warnings.flatMap((warning) =>
          warning.code === 'rollouts_dropped' ? warning.droppedSamples : [],
        )
        const placed = [...schedule.partitions.flat(), ...dropped]
        expect(placed.sort((left, right) => left - right)).toEqual(options.lengths.map((_, sample) => sample))
        const positions = schedule.microBatchIndices.map((ofRank) => ofRank.flat())
        expect(positions).toEqual(schedule.partitions.map((samples) => samples.map((_, position) => position)))
      }),
    )
  })

  test('every rank has the stated number of micro-batches, a multiple of the alignment, none empty', () => {
    fc.assert(
      fc.property(optionsArbitrary, (options) => {
        const schedule = scheduleUnlessTooSmall(options)
        if (schedule === null) return
        const perRank = schedule.numMicrobatches.reduce((sum, count) => sum + count, 0)
        expect(schedule.microBatchIndices.map((ofRank) => ofRank.length)).toEqual(
          schedule.partitions.map(() => perRank),
        )
        const group = alignmentOf(options) / options.dpSize
        expect(schedule.numMicrobatches.filter((count) => count % group !== 0)).toEqual([])
        expect(microBatchesOf(schedule).filter((samples) => samples.length === 0)).toEqual([])
      }),
    )
  })

  test('a micro-batch is over the cap only for a long sample alone or with a warning', () => {
    fc.assert(
      fc.property(optionsArbitrary, (options) => {
        const schedule = scheduleUnlessTooSmall(options)
        if (schedule === null) return
        const cap = options.maxTokensPerGpu * (options.cpSize ?? 1)
        const loads = microBatchesOf(schedule).map((samples) =>
          samples.reduce((sum: number, sample) => sum + (options.lengths[sample ?? -1] ?? 0), 0),
        )
        const overflows = schedule.warnings.flatMap((warning) => (warning.code === 'rollouts_dropped' ? [] : [warning]))
        const counted = overflows.reduce((sum, { overflow }) => sum + overflow.overCapCount, 0)
        expect(loads.filter((load) => load > cap)).toHaveLength(counted)
        expect(overflows.every(({ overflow }) => overflow.overCapCount === 0 || overflow.reliefs.length > 0)).toBe(true)
      }),
    )
  })

  test('samples of one rollout are in one step', () => {
    const schedule = planSchedule({
      lengths: [5, 5, 5, 5, 5, 5],
      rolloutIds: ['a', 'b', 'a', 'c', 'd', 'c'],
      dpSize: 1,
      maxTokensPerGpu: 15,
      globalBatchSize: 2,
    })
    expect(schedule).toMatchObject({
      partitions: [[0, 2, 1, 3, 5, 4]],
      microBatchIndices: [
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      numMicrobatches: [1, 1],
      globalBatchSizes: [2, 2],
      warnings: [],
    })
  })

  test('rollouts that fill no step are dropped by name', () => {
    const { partitions, warnings } = planSchedule({
      lengths: [1, 2, 3, 4],
      rolloutIds: [0, 1, 2, 2],
      dpSize: 1,
      maxTokensPerGpu: 10,
      globalBatchSize: 2,
    })
    expect(partitions).toEqual([[0, 1]])
    expect(warnings).toMatchObject([{ code: 'rollouts_dropped', droppedSamples: [2, 3], droppedRollouts: 1 }])
  })

  test('where upstream gives up, five samples share three micro-batches and the settings that help are named', () => {
    const { numMicrobatches, warnings } = planSchedule({
      lengths: [49000, 49000, 90000, 90000, 90000],
      rolloutIds: [0, 1, 2, 3, 4],
      dpSize: 3,
      cpSize: 8,
      maxTokensPerGpu: 12000,
      globalBatchSize: 5,
    })
    expect(numMicrobatches).toEqual([1])
    expect(warnings).toMatchObject([
      {
        code: 'repacked',
        step: 0,
        microBatches: 3,
        overflow: {
          capTokens: 96000,
          peakTokens: 139000,
          overCapCount: 2,
          excessTokens: 86000,
          longSamples: 0,
          reliefs: [
            { setting: 'maxTokensPerGpu', value: 17375 },
            { setting: 'cpSize', value: 16 },
            { setting: 'paddingSamples', value: 1 },
            { setting: 'dpSize', value: 1 },
          ],
        },
      },
    ])
  })

  test('a sample longer than the cap asks for a higher cap or a shorter sample', () => {
    const { warnings } = planSchedule({
      lengths: [150, 40],
      rolloutIds: [0, 1],
      dpSize: 1,
      maxTokensPerGpu: 100,
      globalBatchSize: 2,
    })
    expect(warnings).toMatchObject([
      {
        code: 'over_cap',
        overflow: {
          longSamples: 1,
          reliefs: [
            { setting: 'maxTokensPerGpu', value: 150 },
            { setting: 'cpSize', value: 2 },
            { setting: 'maxSampleTokens', value: 100 },
          ],
        },
      },
    ])
  })

  test('fewer samples than the alignment are refused with the numbers', () => {
    const options = { lengths: [5, 5, 5], rolloutIds: [0, 1, 2], dpSize: 2, maxTokensPerGpu: 10 }
    expect(() => planSchedule({ ...options, vppSize: 2, microbatchGroupSize: 2, globalBatchSize: 3 })).toThrow(
      expect.objectContaining({
        code: 'config_unschedulable',
        message: expect.stringContaining('3 samples, fewer than the 4 micro-batches'),
        details: { step: 0, samples: 3, alignTo: 4 },
      }),
    )
    expect(() => planSchedule({ ...options, globalBatchSize: 4 })).toThrow(
      expect.objectContaining({ code: 'config_unschedulable', details: { rollouts: 3, globalBatchSize: 4 } }),
    )
  })

  test('a strategy that would put more micro-batches over the cap is not followed', () => {
    // LPT puts 55 + 30 + 30 together beside the long sample, which sets the peak anyway.
    const { microBatchIndices, partitions, warnings } = planSchedule({
      lengths: [150, 55, 45, 40, 30, 30],
      rolloutIds: [0, 1, 2, 3, 4, 5],
      dpSize: 1,
      maxTokensPerGpu: 100,
      globalBatchSize: 6,
      strategy: 'lpt',
    })
    expect(partitions).toEqual([[0, 1, 2, 3, 4, 5]])
    expect(microBatchIndices).toEqual([[[0], [1, 2], [3, 4, 5]]])
    expect(warnings).toMatchObject([{ code: 'over_cap', overflow: { overCapCount: 1 } }])
  })

  test('a strategy that would raise the peak is not followed', () => {
    const options = { lengths: [3, 3, 2, 2, 2], rolloutIds: [0, 1, 2, 3, 4], dpSize: 1, globalBatchSize: 5 }
    const { microBatchIndices } = planSchedule({ ...options, maxTokensPerGpu: 7, strategy: 'lpt' })
    expect(microBatchIndices).toEqual([
      [
        [0, 1],
        [2, 3, 4],
      ],
    ])
  })

  test('a long sample in a repacked step is not blamed on the count', () => {
    const { warnings } = planSchedule({
      lengths: [150, 40, 40],
      rolloutIds: [0, 1, 2],
      dpSize: 2,
      maxTokensPerGpu: 50,
      globalBatchSize: 3,
    })
    const settings = warnings.flatMap((warning) =>
      warning.code === 'repacked' ? warning.overflow.reliefs.map(({ setting }) => setting) : [],
    )
    expect(settings).toEqual(['maxTokensPerGpu', 'cpSize'])
  })

  test('fewer ranks are advised only where the samples fill their groups', () => {
    const { warnings } = planSchedule({
      lengths: [90, 90, 90, 90, 90, 90],
      rolloutIds: [0, 1, 2, 3, 4, 5],
      dpSize: 4,
      vppSize: 2,
      microbatchGroupSize: 1,
      maxTokensPerGpu: 100,
      globalBatchSize: 6,
    })
    const reliefs = warnings.flatMap((warning) => (warning.code === 'repacked' ? warning.overflow.reliefs : []))
    expect(reliefs.find(({ setting }) => setting === 'dpSize')).toMatchObject({ value: 2 })
    expect(reliefs.find(({ setting }) => setting === 'paddingSamples')).toMatchObject({ value: 2 })
    const grouped = planSchedule({
      lengths: [90, 90, 90, 90, 90, 90, 90, 90, 90, 90],
      rolloutIds: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      dpSize: 4,
      vppSize: 2,
      microbatchGroupSize: 2,
      maxTokensPerGpu: 100,
      globalBatchSize: 10,
    }).warnings.flatMap((warning) => (warning.code === 'repacked' ? warning.overflow.reliefs : []))
    expect(grouped.find(({ setting }) => setting === 'dpSize')).toMatchObject({ value: 1 })
  })

  test('best saves micro-batches that first fit wastes', () => {
    const options = {
      lengths: [40, 40, 60, 60],
      rolloutIds: [0, 1, 2, 3],
      dpSize: 1,
      maxTokensPerGpu: 100,
      globalBatchSize: 4,
    }
    expect(planSchedule(options).numMicrobatches).toEqual([3])
    expect(planSchedule({ ...options, strategy: 'best' }).numMicrobatches).toEqual([2])
  })

  test.each([
    { lengths: [1, 0] },
    { lengths: [1, 2.5] },
    { rolloutIds: [0] },
    { dpSize: 0 },
    { cpSize: 1.5 },
    { maxTokensPerGpu: -1 },
    { globalBatchSize: 0 },
  ])('%j is refused', (broken) => {
    const options = { lengths: [1, 2], rolloutIds: [0, 1], dpSize: 1, maxTokensPerGpu: 10, globalBatchSize: 1 }
    expect(() => planSchedule({ ...options, ...broken })).toThrow(expect.objectContaining({ code: 'value_invalid' }))
  })
})
