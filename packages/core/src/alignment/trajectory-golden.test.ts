import type { Message, Turn } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { hasSharedData, readSharedRows } from '../../../../tests/shared-data.ts'
import excerpt from './__fixtures__/trajectory-rerender-excerpt.json' with { type: 'json' }
import { Trajectory } from './trajectory.ts'

/**
 * Rows recorded from slime's TrajectoryManager (commit 624b824a): what it makes
 * of random sessions with drifts, rewrites, forks, cuts and null replies.
 */
interface GoldenRow {
  readonly seed: number
  readonly fork_threshold: number
  readonly max_sample_tokens: number
  readonly turns: readonly {
    readonly prompt_messages: readonly Message[]
    readonly prompt_ids: readonly number[]
    readonly output_ids: readonly number[]
    readonly output_log_probs: readonly number[]
    readonly finish_reason: 'stop' | 'length' | 'abort'
    readonly ill_formed: boolean
    readonly response_message: Message | null
  }[]
  readonly samples: readonly {
    readonly tokens: readonly number[]
    readonly response_length: number
    readonly loss_mask: readonly number[]
    readonly rollout_log_probs: readonly number[]
    readonly reward: number
    readonly metadata: Readonly<Record<string, unknown>>
  }[]
}

function linearizeRow(row: GoldenRow) {
  const trajectory = new Trajectory({ alignment: 'rerender', forkThresholdTokens: row.fork_threshold })
  for (const recorded of row.turns) {
    const turn: Turn = {
      promptIds: Int32Array.from(recorded.prompt_ids),
      outputIds: Int32Array.from(recorded.output_ids),
      outputLogprobs: Float32Array.from(recorded.output_log_probs),
      finishReason: recorded.finish_reason,
      illFormed: recorded.ill_formed,
    }
    trajectory.recordTurn({
      turn,
      promptMessages: recorded.prompt_messages,
      responseMessage: recorded.response_message,
    })
  }
  return trajectory.linearize({ reward: 1, metadata: { k: 1 }, maxSampleTokens: row.max_sample_tokens })
}

function expectEqualToReference(row: GoldenRow): void {
  const { samples, ledger } = linearizeRow(row)
  expect(
    samples.map((sample) => ({
      tokens: [...sample.tokens],
      response_length: sample.responseLength,
      loss_mask: [...sample.lossMask],
      rollout_log_probs: [...sample.logprobs],
      reward: sample.reward,
      metadata: sample.metadata,
    })),
  ).toEqual(
    row.samples.map((sample) => ({
      ...sample,
      rollout_log_probs: [...Float32Array.from(sample.rollout_log_probs)],
    })),
  )
  expect(ledger.sampledTokens).toBe(row.turns.reduce((total, turn) => total + turn.output_ids.length, 0))
  expect(ledger.buckets.trained).toBe(
    samples.reduce((total, sample) => total + sample.lossMask.filter((flag) => flag === 1).length, 0),
  )
}

describe('rerender mode is equal to the recorded reference', () => {
  test.each(excerpt as unknown as GoldenRow[])('excerpt, seed $seed', expectEqualToReference)

  const goldenFile = 'golden/trajectory-rerender.jsonl'
  const rows = readSharedRows<GoldenRow>(goldenFile)
  test.skipIf(!hasSharedData(goldenFile))('the whole recorded set is there', () => {
    expect(rows).toHaveLength(200)
  })
  test.each(rows)('seed $seed', expectEqualToReference)
})
