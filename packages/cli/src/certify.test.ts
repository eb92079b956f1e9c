import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCaptured } from './testing/run-captured.ts'

/** Promises of `agentrl certify`, with a vocabulary of bytes and a few control tokens. */
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentrl-certify-'))
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer()))
  await writeFile(
    join(folder, 'tokenizer_config.json'),
    JSON.stringify({ eos_token: '<|end|>', chat_template: closing }),
  )
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const opening =
  '{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}' +
  '{% for call in message.tool_calls or [] %}<|call|>{{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %}'
const closing = `${opening}<|end|>{% endfor %}<|start|>assistant\n`
/** Without an end, nobody can tell where a call ends. */
const endless = `${opening}{% endfor %}<|start|>assistant\n`

function byteTokenizer(): unknown {
  const letters = Array.from({ length: 256 }, (_, byte) => byteLetter(byte))
  return {
    version: '1.0',
    added_tokens: ['<|start|>', '<|end|>', '<|call|>'].map((content, index) => ({
      id: 256 + index,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: { type: 'BPE', vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])), merges: [] },
  }
}

/** GPT-2's letter for a byte: printable ones spell themselves. */
function byteLetter(byte: number): string {
  const isPrintable = (code: number): boolean =>
    (code >= 0x21 && code <= 0x7e) || (code >= 0xa1 && code <= 0xac) || code >= 0xae
  const unprintableBefore = Array.from({ length: byte }, (_, code) => code).filter((code) => !isPrintable(code)).length
  return String.fromCodePoint(isPrintable(byte) ? byte : 0x100 + unprintableBefore)
}

const certify = (...argv: string[]) => runCaptured('certify', '--tokenizer', folder, ...argv)

describe('agentrl certify', () => {
  test('prints a verdict for each shape of conversation, and ends with 0 when they are exact', async () => {
    const { code, out } = await certify()
    expect(code).toBe(0)
    expect(out).toMatch(/^tool result +exact$/m)
    expect(out).toMatch(/^cut reasoning +not_applicable +the template does not show/m)
    expect(out).toMatch(/Inheritance is exact/)
  })

  test('takes another template, and ends with 1 and the places when it is not exact', async () => {
    const file = join(folder, 'other.jinja')
    await writeFile(file, endless)
    const other = await certify('--template', file)
    expect(other.code).toBe(1)
    expect(other.out).toMatch(/^tool result +not_inherited +the end of the reply can not be told$/m)
    expect(other.out).toMatch(/Inheritance is NOT exact/)
  })

  test('prints JSON on request', async () => {
    const { code, out } = await certify('--json', '--template-arguments', '{"unused": 1}')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      isExact: true,
      cases: expect.arrayContaining([{ shape: 'user', verdict: 'exact', reason: null, difference: null }]),
    })
  })

  test.each([
    [['--template', 'nowhere.jinja'], 2, /nowhere\.jinja can't be read/],
    [['--template-arguments', '[]'], 2, /expected a JSON object/],
    [['--history-reasoning', 'drop'], 2, /Allowed choices are keep, template/],
  ])('%j ends with %i', async (argv, expected, message) => {
    const { code, err } = await certify(...argv)
    expect(code).toBe(expected)
    expect(err).toMatch(message)
  })

  test('a folder that names no stop token is refused', async () => {
    await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify({ chat_template: closing }))
    expect(await certify()).toMatchObject({ code: 2, err: expect.stringMatching(/names no token that ends an output/) })
  })
})
