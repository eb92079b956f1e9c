import { describe, expect, test } from 'vitest'
import { encodeHermesTurn } from './encode-hermes-turn.ts'

test('reasoning, text and parallel calls stand in the layout of the template of Qwen3', () => {
  const turn = {
    reasoning: 'Two files.',
    text: 'Reading both.',
    calls: [
      { name: 'read', arguments: { path: 'a', lines: [1, 2], deep: { on: true, none: null } } },
      { name: 'bash', arguments: { command: 'printf "a\\n"' } },
    ],
  }
  expect(encodeHermesTurn(turn)).toBe(
    [
      '<think>\nTwo files.\n</think>\n\nReading both.',
      '<tool_call>\n{"name": "read", "arguments": {"path": "a", "lines": [1, 2], "deep": {"on": true, "none": null}}}\n</tool_call>',
      '<tool_call>\n{"name": "bash", "arguments": {"command": "printf \\"a\\\\n\\""}}\n</tool_call><|im_end|>',
    ].join('\n'),
  )
})

test.each([
  [
    'only a call',
    { calls: [{ name: 'a', arguments: {} }] },
    '<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>',
  ],
  ['raw text after the text', { text: 'x', raw: '<tool_call>{' }, 'x\n<tool_call>{'],
  ['nothing', {}, ''],
])('a turn of %s is written as it is, and ended', (_, turn, text) => {
  expect(encodeHermesTurn(turn)).toBe(`${text}<|im_end|>`)
})

test.each([
  [
    'call',
    { text: 'x', calls: [{ name: 'a', arguments: { b: 'c' } }] },
    'x\n<tool_call>\n{"name": "a", "arguments": {"b": "c',
  ],
  ['text', { reasoning: 'r', text: 'x' }, '<think>\nr\n</think>\n\nx'],
  ['reasoning', { reasoning: 'r' }, '<think>\nr'],
])('a turn that never ends leaves its %s open', (_, turn, text) => {
  expect(encodeHermesTurn({ ...turn, finish: 'length' })).toBe(`${text}<|im_end|>`)
})

describe('a call that is spoilt', () => {
  const write = (command: string, damage: 'raw-newline' | 'single-backslash' | 'bare-word'): string =>
    encodeHermesTurn({ calls: [{ name: 'bash', arguments: { command }, damage }] }).split('\n</tool_call>')[0] ?? ''

  test('by raw line breaks holds them unescaped', () => {
    expect(write('a\nb', 'raw-newline')).toBe('<tool_call>\n{"name": "bash", "arguments": {"command": "a\nb"}}')
  })
  test('by raw line breaks keeps a backslash and an n of the command', () => {
    expect(write('printf "a\\n"\nb', 'raw-newline')).toContain('"printf \\"a\\\\n\\"\nb"')
  })
  test('by single backslashes has an escape that JSON does not know', () => {
    expect(write('grep "a\\.b" x', 'single-backslash')).toContain('"grep \\"a\\.b\\" x"')
  })
  test('by single backslashes leaves those alone that would become another escape', () => {
    expect(write('printf "a\\n\\d"', 'single-backslash')).toContain('"printf \\"a\\\\n\\d\\""')
  })
  test('by a bare word has no quotes around the last text', () => {
    expect(write('ls -la', 'bare-word')).toBe('<tool_call>\n{"name": "bash", "arguments": {"command": ls -la}}')
  })
})
