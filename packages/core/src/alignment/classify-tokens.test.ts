import type { Message, Turn } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { smallTokenizer } from '../testing/small-tokenizer.ts'
import { splitNonCanonically } from '../testing/split-non-canonically.ts'
import { classifyTokens, findTokenDrift } from './classify-tokens.ts'
import { StoredTurn } from './stored-turn.ts'

/** What a prompt that was rendered anew does to sampled ids, decoded by a real tokenizer. */
const tokenizer = smallTokenizer()
const prompt = '<|im_start|>user\nread it<|im_end|>\n<|im_start|>assistant\n'
const thought = '<think>\nI need the file first.\n</think>\n\n'
const call = '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
const reply: Message = {
  role: 'assistant',
  content: null,
  reasoning_content: 'I need the file first.',
  tool_calls: [{ type: 'function', function: { name: 'read', arguments: '{"path": "a.py"}' } }],
}

async function turnOf(output: string, overrides: Partial<Turn> = {}): Promise<StoredTurn> {
  const outputIds = await tokenizer.encode(output)
  return new StoredTurn(
    {
      promptIds: await tokenizer.encode(prompt),
      outputIds,
      outputLogprobs: Float32Array.from(outputIds, () => -1),
      finishReason: 'stop',
      illFormed: false,
      ...overrides,
    },
    null,
  )
}

async function causeOf(turn: StoredTurn, nextPrompt: string | Int32Array) {
  const ids = typeof nextPrompt === 'string' ? Int32Array.from(await tokenizer.encode(nextPrompt)) : nextPrompt
  const drift = findTokenDrift(turn, ids)
  if (drift === null) return null
  const texts = { held: await tokenizer.decode(drift.heldIds), found: await tokenizer.decode(drift.foundIds) }
  return { ...classifyTokens(drift, texts, [reply]), tokenStart: drift.tokenStart }
}

describe('a prompt that does not repeat the tokens of a turn', () => {
  test('repeats them: no drift', async () => {
    const turn = await turnOf(`${thought}${call}<|im_end|>`)
    expect(await causeOf(turn, `${prompt}${thought}${call}<|im_end|>\n<|im_start|>user\n`)).toBeNull()
  })

  test('ends the turn in another token: stop_token', async () => {
    const turn = await turnOf(`${thought}${call}<|endoftext|>`)
    const found = await causeOf(turn, `${prompt}${thought}${call}<|im_end|>\n`)
    expect(found).toMatchObject({ cause: 'stop_token', tokenStart: turn.length - 1 })
  })

  test('splits the same text otherwise: retokenization, with the ids that differ', async () => {
    const canonical = await tokenizer.encode('command')
    const split = splitNonCanonically(canonical, { tokenizer, random: () => 0 })?.ids ?? canonical
    const turn = await turnOf('', { outputIds: split, outputLogprobs: null })
    const found = await causeOf(turn, `${prompt}command`)
    expect(found).toMatchObject({ cause: 'retokenization', tokenStart: turn.promptLength, found: `${canonical[0]}` })
    expect(found?.held).toMatch(/^\d+( \d+)+$/)
  })

  test('leaves the reasoning out: reasoning_stripped, although it lies far back', async () => {
    const turn = await turnOf(`${thought}${call}<|im_end|>`)
    expect(await causeOf(turn, `${prompt}${call}<|im_end|>\n`)).toMatchObject({
      cause: 'reasoning_stripped',
      where: `tokens[${turn.promptLength}]`,
      held: expect.stringContaining('I need the file first.'),
    })
  })

  test('writes arguments in another way: arguments_reserialized', async () => {
    const turn = await turnOf(`${thought}${call}<|im_end|>`)
    const found = await causeOf(turn, `${prompt}${thought}${call.replace('": "a', '":"a')}<|im_end|>\n`)
    expect(found).toMatchObject({ cause: 'arguments_reserialized', found: expect.stringContaining('"path":"a.py"') })
  })

  test('writes other white space before the call: template_rewrite', async () => {
    const turn = await turnOf(`${thought}\n${call}<|im_end|>`)
    expect(await causeOf(turn, `${prompt}${thought}${call}<|im_end|>\n`)).toMatchObject({ cause: 'template_rewrite' })
  })
})
