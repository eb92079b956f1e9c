import type { Turn } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { SampleBuilder } from './sample-builder.ts'

function turn(promptIds: number[], outputIds: number[], overrides: Partial<Turn> = {}): Turn {
  return {
    promptIds: Int32Array.from(promptIds),
    outputIds: Int32Array.from(outputIds),
    outputLogprobs: Float32Array.from(outputIds, (id) => -id / 8),
    finishReason: 'stop',
    illFormed: false,
    ...overrides,
  }
}

describe('SampleBuilder', () => {
  test('a prompt that extends what is held is clean, and only sampled ids are trained', () => {
    const builder = new SampleBuilder()
    builder.append(turn([1, 2], [3, 4]))
    expect(builder.append(turn([1, 2, 3, 4, 5], [6]))).toEqual({ kind: 'clean', commonTokens: 4, driftTokens: 0 })

    const sample = builder.toSample({ reward: 1 })
    expect([...sample.tokens]).toEqual([1, 2, 3, 4, 5, 6])
    expect([sample.promptLength, sample.responseLength]).toEqual([2, 4])
    expect([...sample.lossMask]).toEqual([1, 1, 0, 1])
    expect([...sample.logprobs]).toEqual([-3 / 8, -4 / 8, 0, -6 / 8])
    expect(sample).toMatchObject({ reward: 1, status: 'completed', isRemoved: false })
  })

  test('rerender: a short output absorbs drift in the last response, which stops training', () => {
    const builder = new SampleBuilder({ forkThresholdTokens: 2 })
    builder.append(turn([1], [3, 4]))
    builder.append(turn([1, 3, 4], [5, 6]))
    expect(builder.append(turn([1, 3, 4, 5, 7], [8])).kind).toBe('realign')
    expect([...builder.toSample({ reward: 0 }).tokens]).toEqual([1, 3, 4, 5, 7, 8])
    expect([...builder.toSample({ reward: 0 }).lossMask]).toEqual([1, 1, 0, 0, 1])
  })

  test('rerender: a long output, or drift before the last response, forks and changes nothing', () => {
    const builder = new SampleBuilder({ forkThresholdTokens: 2 })
    builder.append(turn([1], [3, 4]))
    builder.append(turn([1, 3, 4], [5, 6]))
    expect(builder.append(turn([1, 3, 4, 5, 7], [8, 9])).kind).toBe('fork')
    expect(builder.append(turn([1, 3, 9], [8])).kind).toBe('fork')
    expect([...builder.toSample({ reward: 0 }).tokens]).toEqual([1, 3, 4, 5, 6])
  })

  test('inherit: an unwritten stop id alone is dropped, and all before it stays trained', () => {
    const builder = new SampleBuilder({ alignment: 'inherit' })
    builder.append(turn([1], [3, 4, 99]))
    expect(builder.append(turn([1, 3, 4, 98, 5], [6]))).toEqual({ kind: 'realign', commonTokens: 3, driftTokens: 1 })
    expect([...builder.toSample({ reward: 0 }).lossMask]).toEqual([1, 1, 0, 0, 1])
  })

  test('inherit: the last id of a cut output is no stop id, so its loss forks', () => {
    const builder = new SampleBuilder({ alignment: 'inherit' })
    builder.append(turn([1], [3, 4, 5], { finishReason: 'length' }))
    expect(builder.append(turn([1, 3, 4, 98], [6])).kind).toBe('fork')
  })

  test('inherit: two departed ids fork, however short the output', () => {
    const builder = new SampleBuilder({ alignment: 'inherit' })
    builder.append(turn([1], [3, 4, 99]))
    expect(builder.append(turn([1, 3, 5], [6])).kind).toBe('fork')
  })

  test('classify is a peek', () => {
    const builder = new SampleBuilder()
    builder.append(turn([1], [2]))
    expect(builder.classify(turn([1, 2, 3], [4])).kind).toBe('clean')
    expect(builder.responses).toHaveLength(1)
  })

  test('a turn without log-probabilities, or kept as context, is not trained', () => {
    const builder = new SampleBuilder()
    builder.append(turn([1], [2], { outputLogprobs: null }))
    builder.append(turn([1, 2], [3]), { trained: false })
    expect(builder.hasTrainedTokens).toBe(false)
    expect(builder.toSample({ reward: 0 }).isRemoved).toBe(true)
  })

  test('a sample is cut at the limit, and says that it is', () => {
    const builder = new SampleBuilder()
    builder.append(turn([1, 2], [3, 4, 5]))
    const sample = builder.toSample({ reward: 0, maxSampleTokens: 3 })
    expect([...sample.tokens]).toEqual([1, 2, 3])
    expect([...sample.lossMask]).toEqual([1])
    expect(sample.status).toBe('truncated')
  })

  test.each([-1, 1.5, Number.NaN])('a limit of %d tokens is refused', (maxSampleTokens) => {
    expect(() => new SampleBuilder().toSample({ reward: 1, maxSampleTokens })).toThrow(/maxSampleTokens is a whole/)
  })

  test('a sample is a copy: the builder may go on', () => {
    const builder = new SampleBuilder()
    builder.append(turn([1], [2]))
    const first = builder.toSample({ reward: 0 })
    builder.append(turn([1, 2], [3]))
    expect([...first.tokens]).toEqual([1, 2])
  })

  test.each([
    ['no prompt', turn([], [1])],
    ['too few log-probabilities', turn([1], [2, 3], { outputLogprobs: Float32Array.of(-1) })],
    ['a log-probability that is no number', turn([1], [2], { outputLogprobs: Float32Array.of(Number.NaN) })],
    ['a log-probability above zero', turn([1], [2], { outputLogprobs: Float32Array.of(0.5) })],
    ['a log-probability of minus infinity', turn([1], [2], { outputLogprobs: Float32Array.of(-Infinity) })],
  ])('a turn with %s is refused', (_name, broken) => {
    expect(() => new SampleBuilder().append(broken)).toThrow(
      expect.objectContaining({ code: 'trajectory_invalid_turn' }),
    )
  })
})
