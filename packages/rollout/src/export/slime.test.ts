import { SampleBuilder } from '@agentrl/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { float32Text } from './float32-text.ts'
import { slimeLine, slimePlaceholderLine } from './slime.ts'

const row = {
  index: 3,
  groupIndex: 1,
  rolloutIndex: 5,
  prompt: 'fix it',
  label: 'task',
  response: 'text',
  metadata: { instance_id: 'task' },
}

function sampleOf(reward: number | null) {
  const builder = new SampleBuilder()
  builder.append({
    promptIds: Int32Array.of(1, 2),
    outputIds: Int32Array.of(3, 4),
    outputLogprobs: Float32Array.of(-0.1, -2.5),
    finishReason: 'length',
    illFormed: false,
    weightSpans: [{ version: 'w7', tokenStart: 0, tokenEnd: 2 }],
  })
  return builder.toSample({ reward, metadata: { use_tool: true } })
}

describe('slimeLine', () => {
  test("has the fields of slime's Sample.to_dict", () => {
    expect(JSON.parse(slimeLine(sampleOf(1), row))).toEqual({
      group_index: 1,
      index: 3,
      rollout_id: 5,
      prompt: 'fix it',
      label: 'task',
      response: 'text',
      response_length: 2,
      reward: 1,
      status: 'truncated',
      remove_sample: false,
      weight_versions: ['w7'],
      metadata: { truncated: true, use_tool: true, ill_formed: false, instance_id: 'task', reward_valid: true },
      tokens: [1, 2, 3, 4],
      loss_mask: [1, 1],
      rollout_log_probs: [-0.1, -2.5],
    })
  })

  test('writes the routing of every position but the last as nested lists', () => {
    const indices = Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    const routed = { ...sampleOf(1), routedExperts: { positionStart: 0, layers: 2, topK: 2, indices } }
    expect(JSON.parse(slimeLine(routed, row)).rollout_routed_experts).toEqual([
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6],
        [7, 8],
      ],
      [
        [9, 10],
        [11, 12],
      ],
    ])
  })

  test('writes a null reward as 0 that no trainer must use', () => {
    expect(JSON.parse(slimeLine(sampleOf(null), row))).toMatchObject({
      reward: 0,
      remove_sample: true,
      metadata: { reward_valid: false },
    })
  })

  test('an attempt without samples has a placeholder that completes its group', () => {
    expect(JSON.parse(slimePlaceholderLine(row, 'exception:engine_timeout'))).toMatchObject({
      tokens: [0, 0],
      response_length: 1,
      loss_mask: [0],
      rollout_log_probs: [0],
      status: 'aborted',
      remove_sample: true,
      metadata: { abort_reason: 'exception:engine_timeout', reward_valid: false },
    })
  })
})

describe('float32Text', () => {
  test('reads back as the same float32, and no shorter decimal does', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = float32Text(value)
        expect(Math.fround(JSON.parse(text))).toBe(value === 0 ? 0 : value)
        const digits = text
          .replace(/e.*$/, '')
          .replace(/[-.]/g, '')
          .replace(/^0+|0+$/g, '').length
        if (digits > 1) expect(Math.fround(Number(value.toPrecision(digits - 1)))).not.toBe(value)
      }),
    )
  })

  test.each([
    [Math.fround(-0.1), '-0.1'],
    [Math.fround(-1e-7), '-1e-7'],
    [0, '0'],
    [-0, '0'],
    [16777216, '16777216'],
  ])('%d is %s', (value, text) => {
    expect(float32Text(value)).toBe(text)
  })

  test.each([Number.NaN, Infinity])('%d has no word in JSON', (value) => {
    expect(() => float32Text(value)).toThrow(RangeError)
  })
})
