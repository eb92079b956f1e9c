import type { ToolDefinition } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { ToolHeads } from './tool-heads.ts'

const tool = (name: string): ToolDefinition => ({ type: 'function', function: { name } })

test('equal lists are one object with one name, other lists have others', () => {
  const heads = new ToolHeads()
  const first = heads.of([tool('ls'), tool('cat')])
  expect(heads.of([tool('ls'), tool('cat')])).toBe(first)
  expect(heads.of([tool('cat'), tool('ls')]).head).not.toBe(first.head)
})

test('a list that was not used for long is forgotten, and found anew', () => {
  const heads = new ToolHeads()
  const first = heads.of([tool('ls')])
  const second = heads.of([tool('cat')])
  for (let index = 0; index < 126; index += 1) heads.of([tool(`tool${index}`)])
  expect(heads.of([tool('cat')])).toBe(second)
  heads.of([tool('more')])
  const again = heads.of([tool('ls')])
  expect(again).not.toBe(first)
  expect(again).toEqual(first)
})

test('lists that are very long push others out before there are many', () => {
  const heads = new ToolHeads()
  const long = (name: string): ToolDefinition[] => [
    { type: 'function', function: { name, description: 'x'.repeat(6 * 1024 * 1024) } },
  ]
  const [first, second, third] = ['a', 'b', 'c'].map((name) => heads.of(long(name)))
  expect(heads.of(long('c'))).toBe(third)
  expect(heads.of(long('b'))).toBe(second)
  expect(heads.of(long('a'))).not.toBe(first)
})
