import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PromptTexts } from './prompt-texts.ts'

const ids = fc.array(fc.nat(200_000), { maxLength: 12 })

test('any prompts of any conversations are written as their ids, whatever was written before', () => {
  const prompts = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', undefined), ids, fc.nat(12)), { maxLength: 20 })
  fc.assert(
    fc.property(prompts, fc.integer({ min: 1, max: 80 }), (turns, maxCharacters) => {
      const texts = new PromptTexts({ maxCharacters })
      let last: readonly number[] = []
      for (const [conversation, added, kept] of turns) {
        last = [...last.slice(0, kept), ...added]
        expect(texts.textOf(conversation, Int32Array.from(last))).toBe(last.join(','))
      }
    }),
  )
})

test('a prompt in storage that is shared with others is read where it stands', () => {
  const texts = new PromptTexts()
  const storage = Int32Array.of(9, 1, 2, 3, 4)
  expect(texts.textOf('a', storage.subarray(1, 3))).toBe('1,2')
  expect(texts.textOf('a', storage.subarray(1, 5))).toBe('1,2,3,4')
})
