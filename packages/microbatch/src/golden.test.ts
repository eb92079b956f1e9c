import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasSharedData, readSharedRows } from '../../../tests/shared-data.ts'
import { planSchedule, type Schedule } from './plan-schedule.ts'
import { repackLpt } from './repack-lpt.ts'
import { peakOf } from './weights.ts'

interface ScheduleRow {
  readonly lengths: readonly number[]
  readonly rollout_ids: readonly number[]
  readonly dp_size: number
  readonly cp_size: number
  readonly vpp_size: number
  readonly mb_group: number
  readonly max_tokens_per_gpu: number
  readonly global_batch_size: number
  readonly upstream:
    | {
        readonly partitions: number[][]
        readonly micro_batch_indices: number[][][]
        readonly num_microbatches: number[]
      }
    | { readonly error: string }
}

interface LptRow {
  readonly lengths: readonly number[]
  readonly k: number
  readonly bins: number[][]
  readonly peak: number
}

function readRows<Row>(name: string): Row[] {
  const text = readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url), 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

function schedule(row: ScheduleRow): Schedule {
  return planSchedule({
    lengths: row.lengths,
    rolloutIds: row.rollout_ids,
    dpSize: row.dp_size,
    cpSize: row.cp_size,
    vppSize: row.vpp_size,
    microbatchGroupSize: row.mb_group,
    maxTokensPerGpu: row.max_tokens_per_gpu,
    globalBatchSize: row.global_batch_size,
  })
}

function scheduleOrCode(row: ScheduleRow): unknown {
  try {
    const { partitions, microBatchIndices, numMicrobatches } = schedule(row)
    return { partitions, micro_batch_indices: microBatchIndices, num_microbatches: numMicrobatches }
  } catch (error) {
    return (error as { code?: string }).code
  }
}

/** Steps that give up upstream because nothing can be split: repacked here, or refused below the alignment. */
function expectRepacked(row: ScheduleRow): void {
  const alignTo = row.dp_size * (row.vpp_size > 1 ? row.mb_group : 1)
  const rollouts = [...new Set(row.rollout_ids)]
  const steps = Math.floor(rollouts.length / row.global_batch_size)
  const stepSamples = Array.from({ length: steps }, (_, step) => {
    const ids = rollouts.slice(step * row.global_batch_size, (step + 1) * row.global_batch_size)
    return ids.flatMap((id) => row.rollout_ids.flatMap((other, sample) => (other === id ? [sample] : [])))
  })
  if (stepSamples.some((samples) => samples.length < alignTo)) {
    expect(() => schedule(row)).toThrow(expect.objectContaining({ code: 'config_unschedulable' }))
    return
  }
  const planned = schedule(row)
  const repacked = planned.warnings.filter(({ code }) => code === 'repacked')
  expect(repacked.length).toBeGreaterThan(0)
  for (const warning of repacked) {
    if (warning.code !== 'repacked') continue
    const samples = stepSamples[warning.step] ?? []
    const count = Math.floor(samples.length / alignTo) * alignTo
    const bins = repackLpt(
      samples.map((sample) => row.lengths[sample] as number),
      count,
    ).map((bin) => bin.map((position) => samples[position]))
    const perRank = count / row.dp_size
    const before = planned.numMicrobatches.slice(0, warning.step).reduce((sum, number) => sum + number, 0)
    const met = Array.from({ length: count }, (_, number) => {
      const rank = number % row.dp_size
      const positions = planned.microBatchIndices[rank]?.[before + Math.floor(number / row.dp_size)] ?? []
      return positions.map((position) => planned.partitions[rank]?.[position])
    })
    expect(planned.numMicrobatches[warning.step]).toBe(perRank)
    expect(met).toEqual(bins)
  }
}

describe.each([
  {
    origin: 'the excerpt',
    isPresent: true,
    read: <Row>(name: string) => readRows<Row>(name),
    scheduleRows: 40,
    lptRows: 20,
  },
  {
    origin: 'the whole recording',
    isPresent: hasSharedData('golden/lpt.jsonl'),
    read: <Row>(name: string) => readSharedRows<Row>(`golden/${name}`),
    scheduleRows: 200,
    lptRows: 100,
  },
])('$origin', ({ isPresent, read, scheduleRows, lptRows }) => {
  test.skipIf(!isPresent)('a schedule equals upstream wherever upstream succeeds', () => {
    const rows = read<ScheduleRow>('dp-schedule-upstream.jsonl')
    expect(rows).toHaveLength(scheduleRows)
    const succeeding = rows.filter(({ upstream }) => 'partitions' in upstream)
    expect(succeeding.length).toBeGreaterThan(20)
    expect(succeeding.map(scheduleOrCode)).toEqual(succeeding.map(({ upstream }) => upstream))
  })

  test.skipIf(!isPresent)('a step that upstream gives up on is repacked by LPT into the multiple below', () => {
    const rows = read<ScheduleRow>('dp-schedule-upstream.jsonl')
    const failing = rows.filter(({ upstream }) => 'error' in upstream)
    expect(failing.length).toBeGreaterThan(10)
    for (const row of failing) expectRepacked(row)
  })

  test.skipIf(!isPresent)('LPT equals the recorded packing bin by bin', () => {
    const rows = read<LptRow>('lpt.jsonl')
    expect(rows).toHaveLength(lptRows)
    const packed = rows.map(({ lengths, k }) => repackLpt(lengths, k))
    expect(packed).toEqual(rows.map(({ bins }) => bins))
    expect(packed.map((bins, row) => peakOf(bins, rows[row]?.lengths ?? []))).toEqual(rows.map(({ peak }) => peak))
  })
})

test('two long and three longer samples in three bins peak at 139,000 tokens', () => {
  const lengths = [49000, 49000, 90000, 90000, 90000]
  expect(repackLpt(lengths, 3)).toEqual([[2, 0], [3, 1], [4]])
  expect(peakOf(repackLpt(lengths, 3), lengths)).toBe(139000)
})
