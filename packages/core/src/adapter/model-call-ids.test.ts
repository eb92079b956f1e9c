import type { Message } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { withModelCallIds } from './model-call-ids.ts'

const messages: readonly Message[] = [
  { role: 'user', content: 'Look.' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'ls', arguments: '{}' } },
      { id: 'other', type: 'function', function: { name: 'ls', arguments: '{}' } },
    ],
  },
  { role: 'tool', content: 'a', tool_call_id: 'call_1' },
  { role: 'tool', content: 'b', tool_call_id: 'other' },
]

test('templates read the ids that the model wrote, and others as they are', () => {
  const shown = withModelCallIds(messages, new Map([['call_1', 'functions.ls:0']]))
  expect(shown).toMatchObject([
    { role: 'user' },
    { tool_calls: [{ id: 'functions.ls:0' }, { id: 'other' }] },
    { tool_call_id: 'functions.ls:0', content: 'a' },
    { tool_call_id: 'other' },
  ])
})

test('a model that writes no ids costs nothing', () => {
  expect(withModelCallIds(messages, new Map())).toBe(messages)
})
