import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { flopsCost, type ModelShape } from './cost-models.ts'
import { karmarkarKarp } from './karmarkar-karp.ts'
import { planSchedule } from './plan-schedule.ts'

/** Recorded by `pnpm proof:microbatch` from slime at 624b824a. */
const slime = JSON.parse(readFileSync(new URL('./__fixtures__/slime-balancing.json', import.meta.url), 'utf8')) as {
  partitions: { lengths: number[]; binCount: number; isEqualCount: boolean; bins: number[][] }[]
  flops: { model: ModelShape; tokens: number; flops: number }[]
  balanced: {
    model: ModelShape
    lengths: number[]
    dpSize: number
    partitions: number[][]
    microBatchIndices: number[][][]
    numMicrobatches: number[]
  }[]
}

test('Karmarkar–Karp partitions are the same, set by set', () => {
  expect(slime.partitions).toHaveLength(120)
  const met = slime.partitions.map(({ lengths, binCount, isEqualCount }) =>
    karmarkarKarp(lengths, binCount, { isEqualCount }),
  )
  expect(met).toEqual(slime.partitions.map(({ bins }) => bins))
})

test('FLOP counts are the same', () => {
  expect(slime.flops).toHaveLength(10)
  expect(slime.flops.map(({ model, tokens }) => flopsCost(model)(tokens))).toEqual(
    slime.flops.map(({ flops }) => flops),
  )
})

test('ranks balanced by FLOPs get the same micro-batches', () => {
  expect(slime.balanced).toHaveLength(20)
  const met = slime.balanced.map(({ model, lengths, dpSize }) => {
    const { partitions, microBatchIndices, numMicrobatches } = planSchedule({
      lengths,
      rolloutIds: lengths.map((_, sample) => sample),
      dpSize,
      maxTokensPerGpu: 4096,
      globalBatchSize: lengths.length,
      rankCost: flopsCost(model),
    })
    return { partitions, microBatchIndices, numMicrobatches }
  })
  expect(met).toEqual(
    slime.balanced.map(({ partitions, microBatchIndices, numMicrobatches }) => ({
      partitions,
      microBatchIndices,
      numMicrobatches,
    })),
  )
})
