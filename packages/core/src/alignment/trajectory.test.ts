import type { Message, Turn } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import type { StoredTurn } from './stored-turn.ts'
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

  test('what was looked up before a turn was recorded is looked up anew', () => {
    const trajectory = new Trajectory()
    const promptMessages = [user('a'), user('b')]
    expect(trajectory.findReplies(promptMessages)).toEqual([])
    const handle = trajectory.recordTurn({ turn: turn([1], [2]), promptMessages, responseMessage: assistant('c') })
    expect(trajectory.findReplies(promptMessages)).toEqual([handle])
  })

  test('a request without messages is refused', () => {
    expect(() =>
      new Trajectory().recordTurn({ turn: turn([1], [2]), promptMessages: [], responseMessage: null }),
    ).toThrow(expect.objectContaining({ code: 'trajectory_invalid_turn' }))
  })
})

describe('Trajectory, branch policies', () => {
  /** main, then a summary that goes on from it, then a main turn that goes on from the summary. */
  function summarized(): Trajectory {
    const trajectory = new Trajectory()
    const messages = [user('a'), assistant('b'), user('c'), assistant('d'), user('e')]
    const record = (length: number, ids: readonly [number[], number[]], role: 'main' | 'compaction') =>
      trajectory.recordTurn({
        turn: turn(...ids),
        promptMessages: messages.slice(0, length),
        responseMessage: messages[length] ?? assistant('f'),
        role,
      })
    record(1, [[1], [2]], 'main')
    record(3, [[1, 2, 3], [4]], 'compaction')
    record(5, [[1, 2, 3, 4, 5], [6]], 'main')
    return trajectory
  }

  test.each([
    ['train', [[1, 0, 1, 0, 1]], { trained: 3, branch_policy: 0 }],
    ['context', [[1, 0, 0, 0, 1]], { trained: 2, branch_policy: 1 }],
    ['drop', [[1]], { trained: 1, branch_policy: 2 }],
  ] as const)('a summary under %s', (policy, masks, buckets) => {
    const { samples, ledger } = summarized().linearize({ reward: 1, branchPolicies: { compaction: policy } })
    expect(samples.map((sample) => [...sample.lossMask])).toEqual(masks)
    expect(ledger.buckets).toMatchObject(buckets)
  })

  test('a branch of another role is changed in all its turns', () => {
    const trajectory = summarized()
    trajectory.changeRole('', 'main', 'auxiliary')
    const { samples, ledger } = trajectory.linearize({ reward: 1, branchPolicies: { auxiliary: 'context' } })
    expect(samples.map((sample) => [...sample.lossMask])).toEqual([[0, 0, 1]])
    expect(ledger.buckets).toMatchObject({ trained: 1, branch_policy: 2 })
  })
})

describe('Trajectory, storage', () => {
  test('a session keeps of each prompt what no earlier turn holds', () => {
    const trajectory = new Trajectory()
    const messages: Message[] = [user('start')]
    let ids = Array.from({ length: 1000 }, (_, index) => index)
    let kept = 0
    for (let index = 0; index < 50; index += 1) {
      const outputIds = [9000 + index, 9001 + index]
      const promptIds = Int32Array.from(ids)
      trajectory.recordTurn({
        turn: turn(promptIds, outputIds),
        promptMessages: [...messages],
        responseMessage: assistant(`a${index}`),
      })
      messages.push(assistant(`a${index}`), user(`u${index}`))
      const stored = trajectory.findInheritance(messages).turn as StoredTurn
      expect(stored.promptIds.join()).toBe(promptIds.join())
      kept += stored.suffixIds.length + stored.outputIds.length
      ids = [...ids, ...outputIds, 1, 2, 3]
    }
    expect(kept).toBe(1000 + 50 * 2 + 49 * 3)
    expect(trajectory.linearize({ reward: 1 }).samples.map((sample) => sample.tokens.length)).toEqual([kept])
  })

  test('a branch that starts like another shares its head with it', () => {
    const trajectory = new Trajectory()
    const head = Array.from({ length: 1000 }, (_, index) => index)
    for (const task of [1, 2, 3]) {
      trajectory.recordTurn({
        turn: turn([...head, 5000 + task], [6000 + task]),
        promptMessages: [user(`task ${task}`)],
        responseMessage: assistant(`done ${task}`),
      })
    }
    const kept = [1, 2, 3].map((task) => {
      const messages = [user(`task ${task}`), assistant(`done ${task}`)]
      return (trajectory.findInheritance(messages).turn as StoredTurn).suffixIds.length
    })
    expect(kept).toEqual([1001, 1, 1])
  })
})
