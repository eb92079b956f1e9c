import type { AssistantMessage, JsonValue } from '@agentrl/spec'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { messagesEquivalent, replyKey } from './message-equality.ts'
import { Trajectory } from './trajectory.ts'

const text = fc.constantFrom('', ' ', 'a', ' a\n', 'b')
const reply = fc
  .record({
    content: fc.option(text),
    reasoning: text,
    calls: fc.array(fc.tuple(fc.constantFrom('ls', 'cat'), fc.jsonValue({ maxDepth: 2 })), { maxLength: 2 }),
    isText: fc.boolean(),
  })
  .map(
    ({ content, reasoning, calls, isText }): AssistantMessage => ({
      role: 'assistant',
      content,
      reasoning_content: reasoning,
      tool_calls: calls.map(([name, value]) => {
        const argumentsObject = { value, x: 1 } as { [key: string]: JsonValue }
        const reversed = Object.fromEntries(Object.entries(argumentsObject).reverse())
        return {
          type: 'function',
          function: { name, arguments: isText ? JSON.stringify(reversed, null, 1) : argumentsObject },
        }
      }),
    }),
  )

test('replies that are equivalent have one key', () => {
  fc.assert(
    fc.property(reply, reply, (left, right) => {
      if (messagesEquivalent(left, right)) expect(replyKey(left)).toBe(replyKey(right))
      const respelled: AssistantMessage = { ...left, content: ` ${left.content ?? ''}\n`, reasoning_content: '' }
      expect(messagesEquivalent(left, respelled)).toBe(true)
      expect(replyKey(left)).toBe(replyKey(respelled))
    }),
  )
})

test('a reply is looked for among many by reading each of them once', () => {
  const trajectory = new Trajectory()
  const callOf = (index: number): AssistantMessage => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ type: 'function', function: { name: 'ls', arguments: `{"path": ${index}}` } }],
  })
  const promptMessages = [{ role: 'user' as const, content: 'go' }]
  let messages: Parameters<Trajectory['isQuotedIn']>[0] = promptMessages
  for (let index = 0; index < 50; index += 1) {
    trajectory.recordTurn({
      turn: {
        promptIds: Int32Array.of(1),
        outputIds: Int32Array.of(2),
        outputLogprobs: null,
        finishReason: 'stop',
        illFormed: false,
      },
      promptMessages: messages,
      responseMessage: callOf(index),
    })
    messages = [...messages, callOf(index), { role: 'tool', content: 'ok' }]
  }
  const strangers = Array.from({ length: 50 }, (_, index) => callOf(1000 + index))
  const parse = vi.spyOn(JSON, 'parse')
  expect(trajectory.isQuotedIn(strangers)).toBe(false)
  expect(parse.mock.calls.length).toBeLessThanOrEqual(100)
  parse.mockRestore()
  expect(trajectory.isQuotedIn([...strangers, callOf(7)])).toBe(true)
})
