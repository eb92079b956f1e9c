import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PromptBytes } from './prompt-bytes.ts'

const id = fc.oneof(fc.nat(200_000), fc.constantFrom(0, 9, 10, 99_999, 100_000, 2_147_483_647))
const ids = fc.array(id, { maxLength: 12 })
const textOf = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString()

test('any prompts of any sessions are written as their ids, whatever was written before', () => {
  const prompts = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', undefined), ids, fc.nat(12)), { maxLength: 20 })
  fc.assert(
    fc.property(prompts, fc.integer({ min: 1, max: 400 }), (turns, maxBytes) => {
      const bytes = new PromptBytes({ maxBytes })
      let last: readonly number[] = []
      for (const [session, added, kept] of turns) {
        last = [...last.slice(0, kept), ...added]
        expect(textOf(bytes.piecesOf(session, Int32Array.from(last)))).toBe(last.join(','))
      }
    }),
  )
})

test('a long conversation is written in few pieces, and what was written is not written again', () => {
  const bytes = new PromptBytes()
  const all = Int32Array.from({ length: 200 }, (_, index) => index)
  let before: readonly Uint8Array[] = []
  let reused = 0
  for (let length = 1; length <= all.length; length += 1) {
    const pieces = bytes.piecesOf('a', all.subarray(0, length))
    expect(textOf(pieces)).toBe(all.slice(0, length).join(','))
    expect(pieces.length).toBeLessThanOrEqual(32)
    if (pieces[0] === before[0]) reused += 1
    before = pieces
  }
  expect(reused).toBeGreaterThan(190)
})

test('conversations that take turns on one session go on where each of them was', () => {
  const bytes = new PromptBytes()
  const [main, agent] = [Int32Array.of(1, 2, 3), Int32Array.of(7, 8, 9)]
  const first = bytes.piecesOf('a', main.subarray(0, 2))
  bytes.piecesOf('a', agent.subarray(0, 2))
  const second = bytes.piecesOf('a', main)
  expect(second[0]).toBe(first[0])
  expect(textOf(second)).toBe('1,2,3')
  expect(textOf(bytes.piecesOf('a', agent))).toBe('7,8,9')
})
