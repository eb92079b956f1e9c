import { seededRandom } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { encodeHermesTurn } from './encode-hermes-turn.ts'
import { sampleScriptedTurn } from './sample-scripted-turn.ts'
import type { ScriptedTurn } from './scripted-turn.ts'
import { seededHash } from './seeded-hash.ts'
import { smallTokenizer } from './small-tokenizer.ts'

const tokenizer = smallTokenizer()
const endOfTurn = tokenizer.tokenToId('<|im_end|>') ?? -1
const sample = (
  turn: ScriptedTurn,
  options: { readonly nonCanonicalRate?: number; readonly maxNewTokens?: number } = {},
) =>
  sampleScriptedTurn(turn, {
    tokenizer,
    encodeTurn: encodeHermesTurn,
    seedKey: 'k',
    nonCanonicalRate: 0,
    maxNewTokens: 1000,
    stopTokenIds: new Set([endOfTurn]),
    ...options,
  })
const noiseAt = (index: number): number => 0.0005 + 0.499 * seededRandom(seededHash('k', 'noise', index))()

test('log-probabilities follow the formula: choice, rate, split and noise', async () => {
  // " the" is one token with one way to split it, "<|im_end|>" has none.
  const canonical = await sample({ text: ' the', probability: 0.25 })
  expect(canonical.ids).toHaveLength(2)
  expect(canonical.logprobs[0]).toBeCloseTo(Math.log(0.25) + Math.log(1 - noiseAt(0)), 5)
  expect(canonical.logprobs[1]).toBeCloseTo(Math.log(1 - noiseAt(1)), 5)

  const rate = 0.9999
  const split = await sample({ text: 'x the the', probability: 0.25 }, { nonCanonicalRate: rate })
  expect(split.ids).toHaveLength(5)
  const start = split.ids.indexOf(tokenizer.tokenToId('Ġth') ?? -1)
  const expected = Array.from(
    split.ids,
    (_, index) => Math.log(1 - noiseAt(index)) + (index === start ? Math.log(1 / 2) : 0),
  )
  const first = expected[0] ?? 0
  expect(Array.from(split.logprobs)).toEqual(
    [first + Math.log(0.25) + Math.log(rate), ...expected.slice(1)].map((value) => expect.closeTo(value, 5)),
  )
})

test('a canonical answer under a rate carries the probability of not being split', async () => {
  const without = await sample({ text: ' the' })
  const withRate = await sample({ text: ' the' }, { nonCanonicalRate: 0.0001 })
  expect(withRate.isNonCanonical).toBe(false)
  expect(withRate.logprobs[0]).toBe(Math.fround((without.logprobs[0] ?? 0) + Math.log(1 - 0.0001)))
})

test('an answer in which nothing can be split is canonical at any rate', async () => {
  expect(await sample({}, { nonCanonicalRate: 1 })).toMatchObject({
    ids: Int32Array.of(endOfTurn),
    isNonCanonical: false,
  })
})

test('an answer that never ends repeats its last sixteen ids up to the limit', async () => {
  const text = 'abcdefghijklmnopqrstuvwxyz'
  const { ids, finish } = await sample({ text, finish: 'length' }, { maxNewTokens: 200 })
  const plain = await tokenizer.encodePlain(text)
  expect(finish).toBe('length')
  expect(ids).toHaveLength(200)
  expect(ids.slice(0, plain.length)).toEqual(plain)
  expect(ids.slice(-16 - ((200 - plain.length) % 16)).slice(0, 16)).toEqual(plain.slice(-16))
})
