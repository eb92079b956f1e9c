import fc from 'fast-check'
import { expect, test } from 'vitest'
import { smallTokenizer } from './small-tokenizer.ts'

const tokenizer = smallTokenizer()

test('any valid text comes back from its ids, with and without added tokens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
      expect(await tokenizer.decode(await tokenizer.encode(text))).toBe(text)
      expect(await tokenizer.decode(await tokenizer.encodePlain(text))).toBe(text)
    }),
  )
})

test('added tokens are recognised by encode and spelled out by encodePlain', async () => {
  const text = '<|im_start|>user\n<think>'
  const addedIds = tokenizer.addedTokens.map((token) => token.id)
  const [start, , , think] = await tokenizer.encode(text)
  expect(start).toBe(tokenizer.tokenToId('<|im_start|>'))
  expect(think).toBe(tokenizer.tokenToId('<think>'))
  expect(Array.from(await tokenizer.encodePlain(text)).filter((id) => addedIds.includes(id))).toEqual([])
})

test('an added token is a hard split: encodings on both sides join', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), async (left, right) => {
      const whole = await tokenizer.encode(`${left}<|im_end|>${right}`)
      expect(Array.from(whole)).toEqual([
        ...(await tokenizer.encode(left)),
        ...(await tokenizer.encode('<|im_end|>')),
        ...(await tokenizer.encode(right)),
      ])
    }),
  )
})

test('words of its list are one token', async () => {
  expect(await tokenizer.encode(' the')).toHaveLength(1)
  expect(await tokenizer.encode('assistant')).toHaveLength(1)
})

test('special tokens are left out of the text when asked, other added tokens never', async () => {
  const ids = await tokenizer.encode('a<|im_end|></tool_call>')
  expect(await tokenizer.decode(ids, { skipSpecialTokens: true })).toBe('a</tool_call>')
})

test('ids and spellings map to each other', () => {
  const ids = Array.from({ length: tokenizer.vocabularySize }, (_, id) => id)
  expect(ids.map((id) => tokenizer.tokenToId(tokenizer.idToToken(id) ?? ''))).toEqual(ids)
  expect(tokenizer.idToToken(tokenizer.vocabularySize)).toBeNull()
  expect(tokenizer.addedTokens).toHaveLength(26)
})
