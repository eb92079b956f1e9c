import { groupId, rolloutId, sampleId } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { SampleBuilder } from './alignment/sample-builder.ts'
import { requireOneHistoryReasoning } from './history-reasoning.ts'

function sampleWith(id: string, metadata: Record<string, string>) {
  const builder = new SampleBuilder()
  builder.append({
    promptIds: Int32Array.of(1),
    outputIds: Int32Array.of(2),
    outputLogprobs: Float32Array.of(-1),
    finishReason: 'stop',
    illFormed: false,
  })
  const ids = { sampleId: sampleId(id), rolloutId: rolloutId('r'), groupId: groupId('g') }
  return builder.toSample({ reward: 1, ...ids, metadata })
}

test('a batch of one history of reasoning passes, samples that say nothing do too', () => {
  const batch = [
    sampleWith('a', {}),
    sampleWith('b', { history_reasoning: 'keep' }),
    sampleWith('c', { history_reasoning: 'keep' }),
  ]
  expect(() => requireOneHistoryReasoning(batch)).not.toThrow()
})

test('a batch that mixes two is refused, and both samples are named', () => {
  const batch = [sampleWith('b', { history_reasoning: 'keep' }), sampleWith('c', { history_reasoning: 'template' })]
  expect(() => requireOneHistoryReasoning(batch)).toThrow(
    expect.objectContaining({
      code: 'trajectory_mixed_history',
      message: expect.stringMatching(/b has "keep", c has/),
    }),
  )
})
