import type { Message, Turn } from '@agentrl/spec'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reconcile } from './ledger.ts'
import { Trajectory } from './trajectory.ts'

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: string): Message => ({ role: 'assistant', content })

function turn(promptIds: Iterable<number>, outputIds: number[], overrides: Partial<Turn> = {}): Turn {
  return {
    promptIds: Int32Array.from(promptIds),
    outputIds: Int32Array.from(outputIds),
    outputLogprobs: Float32Array.from(outputIds, () => -0.5),
    finishReason: 'stop',
    illFormed: false,
    ...overrides,
  }
}

describe('Trajectory, inherit', () => {
  test('a conversation of inheriting turns is one sample in which every sampled token trains', () => {
    const trajectory = new Trajectory()
    trajectory.recordTurn({ turn: turn([1, 2], [3, 4]), promptMessages: [user('a')], responseMessage: assistant('b') })
    trajectory.recordTurn({
      turn: turn([1, 2, 3, 4, 5], [6]),
      promptMessages: [user('a'), assistant('b'), user('c')],
      responseMessage: assistant('d'),
    })
    const { samples, ledger } = trajectory.linearize({ reward: 1 })
    expect(samples.map((sample) => [...sample.tokens])).toEqual([[1, 2, 3, 4, 5, 6]])
    expect(ledger).toMatchObject({ sampledTokens: 3, contextRepeatPositions: 0 })
    expect(ledger.buckets.trained).toBe(3)
  })

  test('two replies to one request are siblings: both train, the shared part once', () => {
    const trajectory = new Trajectory()
    trajectory.recordTurn({ turn: turn([1], [2]), promptMessages: [user('a')], responseMessage: assistant('b') })
    const promptMessages = [user('a'), assistant('b'), user('c')]
    trajectory.recordTurn({ turn: turn([1, 2, 3], [4]), promptMessages, responseMessage: assistant('d') })
    trajectory.recordTurn({ turn: turn([1, 2, 3], [5]), promptMessages, responseMessage: assistant('e') })
    const { samples, ledger } = trajectory.linearize({ reward: 1 })
    expect(samples.map((sample) => [...sample.lossMask])).toEqual([
      [1, 0, 1],
      [0, 0, 1],
    ])
    expect(ledger.buckets.trained).toBe(3)
    expect(ledger.contextRepeatPositions).toBe(1)
  })

  test('another head is another tree', () => {
    const trajectory = new Trajectory()
    trajectory.recordTurn({
      turn: turn([1], [2]),
      promptMessages: [user('a')],
      responseMessage: assistant('b'),
      head: 'tools 1',
    })
    const messages = [user('a'), assistant('b'), user('c')]
    expect(trajectory.findInheritance(messages, 'tools 2')).toEqual({ turn: null, messageCount: 0 })
    expect(trajectory.findInheritance(messages, 'tools 1').messageCount).toBe(2)
  })

  test('a reply is found again under other ids, other key order, other number spelling, and trimmed reasoning', () => {
    const call = (id: string, args: string, reasoning: string): Message => ({
      role: 'assistant',
      content: null,
      reasoning_content: reasoning,
      tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: args } }],
    })
    const trajectory = new Trajectory()
    trajectory.recordTurn({
      turn: turn([1], [2]),
      promptMessages: [user('a')],
      responseMessage: call('x', '{"path":"p","limit":2.0}', 'think\n\n'),
    })
    const echoed = [user('a'), call('y', '{"limit":2,"path":"p"}', 'think'), user('next')]
    expect(trajectory.findInheritance(echoed).messageCount).toBe(2)
    expect(trajectory.findInheritance([user('a'), call('y', '{"limit":3,"path":"p"}', 'think')]).messageCount).toBe(0)
  })

  test('a turn recorded as untrained is in its bucket, and stands as context for what follows', () => {
    const trajectory = new Trajectory()
    trajectory.recordTurn({
      turn: turn([1], [2, 3]),
      promptMessages: [user('a')],
      responseMessage: assistant('b'),
      untrained: 'ill_formed_policy',
    })
    trajectory.recordTurn({
      turn: turn([1, 2, 3, 4], [5]),
      promptMessages: [user('a'), assistant('b'), user('c')],
      responseMessage: assistant('d'),
    })
    const { samples, ledger } = trajectory.linearize({ reward: 1 })
    expect(samples.map((sample) => [...sample.lossMask])).toEqual([[0, 0, 0, 1]])
    expect(ledger.buckets).toMatchObject({ trained: 1, ill_formed_policy: 2 })
  })

  test('a request without messages is refused', () => {
    expect(() =>
      new Trajectory().recordTurn({ turn: turn([1], [2]), promptMessages: [], responseMessage: null }),
    ).toThrow(expect.objectContaining({ code: 'trajectory_invalid_turn' }))
  })
})

/** A random session: each step continues an earlier path, exactly or with a drift, and samples some ids. */
const sessionArbitrary = fc.array(
  fc.record({
    from: fc.nat(),
    drift: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) }),
    outputLength: fc.nat(6),
    withLogprobs: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
    finishReason: fc.constantFrom('stop' as const, 'length' as const, 'abort' as const),
    untrained: fc.option(fc.constantFrom('branch_policy' as const, 'disconnected' as const), { freq: 5 }),
    rewritten: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)

describe.each(['inherit', 'rerender'] as const)('Trajectory properties, %s', (alignment) => {
  test('every session reconciles, no token trains twice, and trained pairs are what the engine returned', () => {
    fc.assert(
      fc.property(
        sessionArbitrary,
        fc.constantFrom(0, 9),
        fc.constantFrom(0, 3, 1024),
        (steps, maxSampleTokens, forkThresholdTokens) => {
          const trajectory = new Trajectory({ alignment, forkThresholdTokens })
          const engineLogprob = new Map<number, number>()
          const history: { messages: Message[]; ids: number[] }[] = [{ messages: [user('start')], ids: [1, 2] }]
          let nextId = 10
          let sampled = 0
          for (const [index, step] of steps.entries()) {
            const from = history[step.from % history.length] as (typeof history)[number]
            const promptIds = from.ids.slice(0, Math.max(1, from.ids.length - step.drift)).concat(nextId++)
            const outputIds = Array.from({ length: step.outputLength }, () => nextId++)
            const outputLogprobs = Float32Array.from(outputIds, (id) => -1 / id)
            for (const [position, id] of outputIds.entries()) engineLogprob.set(id, outputLogprobs[position] as number)
            const promptMessages = [...from.messages, user(`u${index}`)]
            trajectory.recordTurn({
              turn: turn(promptIds, outputIds, {
                outputLogprobs: step.withLogprobs ? outputLogprobs : null,
                finishReason: step.finishReason,
              }),
              promptMessages,
              responseMessage: assistant(`a${index}`),
              untrained: step.untrained,
            })
            sampled += outputIds.length
            const echoed = assistant(step.rewritten ? `a${index} rewritten` : `a${index}`)
            history.push({ messages: [...promptMessages, echoed], ids: [...promptIds, ...outputIds] })
          }

          const { samples, ledger } = trajectory.linearize({ reward: 1, maxSampleTokens })
          reconcile(ledger)
          expect(ledger.sampledTokens).toBe(sampled)
          const trainedIds: number[] = []
          for (const sample of samples) {
            expect(sample.lossMask.length).toBe(Math.max(0, sample.responseLength))
            expect(sample.logprobs.length).toBe(sample.lossMask.length)
            for (let position = 0; position < sample.lossMask.length; position += 1) {
              const id = sample.tokens[sample.promptLength + position] as number
              if (sample.lossMask[position] === 1) {
                trainedIds.push(id)
                expect(sample.logprobs[position]).toBe(engineLogprob.get(id))
              } else expect(sample.logprobs[position]).toBe(0)
            }
          }
          expect(new Set(trainedIds).size).toBe(trainedIds.length)
          expect(trainedIds.length).toBe(ledger.buckets.trained)
        },
      ),
    )
  })
})
