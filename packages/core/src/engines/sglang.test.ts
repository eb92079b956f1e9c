import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EngineRequest } from '@agentrl/spec'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { neutralSampling } from '../adapter/session-options.ts'
import { type ScriptedEngine, startScriptedEngine } from '../testing/scripted-engine.ts'
import { smallTokenizer } from '../testing/small-tokenizer.ts'
import { connectSglang, type SglangEngine } from './sglang.ts'

const tokenizer = smallTokenizer()

async function requestOf(overrides: Partial<EngineRequest> = {}): Promise<EngineRequest> {
  return {
    requestId: 'session_t1',
    promptIds: await tokenizer.encode('<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n'),
    sampling: neutralSampling,
    maxNewTokens: 64,
    stopTokenIds: [tokenizer.tokenToId('<|im_end|>') as number],
    ...overrides,
  }
}

describe('connectSglang', () => {
  let standIn: ScriptedEngine
  let engine: SglangEngine

  beforeEach(async () => {
    standIn = await startScriptedEngine({ tokenizer, player: () => ({ text: 'good day' }) })
    engine = await connectSglang({ url: standIn.url })
  })
  afterEach(async () => {
    await engine[Symbol.asyncDispose]()
    await standIn.close()
  })

  test('ids and log-probabilities arrive as the engine sent them', async () => {
    const reply = await engine.generate(await requestOf())
    const sent = standIn.calls[0]
    expect([...reply.outputIds]).toEqual([...(sent?.outputIds ?? [])])
    expect([...reply.outputLogprobs]).toEqual([...(sent?.outputLogprobs ?? [])])
    expect(reply.finishReason).toBe('stop')
    expect(reply.weightSpans).toEqual([{ version: 'scripted-0', tokenStart: 0, tokenEnd: reply.outputIds.length }])
    expect(engine).toMatchObject({ isStandIn: true, name: expect.stringContaining('stand-in') })
  })

  test('every sampling key is sent, whether neutral or not', async () => {
    await engine.generate(await requestOf({ routingKey: 'session' }))
    expect(standIn.calls[0]?.samplingParams).toMatchObject({
      temperature: 1,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      frequency_penalty: 0,
      presence_penalty: 0,
      repetition_penalty: 1,
      max_new_tokens: 64,
      ignore_eos: false,
      skip_special_tokens: false,
      no_stop_trim: true,
    })
    expect(standIn.calls[0]?.routingKey).toBe('session')
  })

  test.each([
    [{ kind: 'http-error', status: 500 }, 'engine_http_error', true],
    [{ kind: 'http-error', status: 400 }, 'engine_http_error', false],
    [{ kind: 'missing-logprobs' }, 'engine_missing_logprobs', false],
    [{ kind: 'wrong-length' }, 'engine_bad_response', false],
    [{ kind: 'malformed-json' }, 'engine_bad_response', false],
    [{ kind: 'connection-drop', when: 'before-reply' }, 'engine_unreachable', true],
    [{ kind: 'connection-drop', when: 'within-reply' }, 'engine_unreachable', true],
  ] as const)('the fault %j is the error %s', async (fault, code, isRetryable) => {
    standIn.injectFault(fault)
    await expect(engine.generate(await requestOf())).rejects.toMatchObject({ code, isRetryable })
  })

  test('an aborted output is returned with what it has', async () => {
    standIn.injectFault({ kind: 'abort', keptTokens: 2 })
    const reply = await engine.generate(await requestOf())
    expect(reply).toMatchObject({ finishReason: 'abort' })
    expect(reply.outputIds).toHaveLength(2)
  })

  test('cancelling rejects with the reason and ends the call at the engine', async () => {
    const held = standIn.holdNextCall()
    const controller = new AbortController()
    const call = engine.generate(await requestOf(), { signal: controller.signal })
    await held.arrived
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await held.ended
    expect(standIn.runningCalls).toBe(0)
  })

  test('a call that takes too long is a timeout', async () => {
    const hasty = await connectSglang({ url: standIn.url, timeoutMs: 20 })
    const held = standIn.holdNextCall()
    await expect(hasty.generate(await requestOf())).rejects.toMatchObject({ code: 'engine_timeout' })
    await held.ended
    await hasty[Symbol.asyncDispose]()
  })
})

describe('routed experts', () => {
  /** Answers 3 sampled ids, and routing from `from` on: 2 layers, top 2, each index its place in the array. */
  async function route(from: number, meta: object = {}) {
    const bodies: Record<string, unknown>[] = []
    const server = createServer((request, response) => {
      let text = ''
      request.on('data', (chunk: Buffer) => {
        text += String(chunk)
      })
      request.on('end', () => {
        if (request.method === 'GET') return response.end('{"model_path":"moe"}')
        const body = JSON.parse(text) as { input_ids: number[] }
        bodies.push(body)
        const rows = body.input_ids.length + 3 - 1 - from
        const indices = Int32Array.from({ length: rows * 2 * 2 }, (_, index) => index)
        const output_token_logprobs = [5, 6, 7].map((id) => [-0.5, id, null])
        const routed_experts = Buffer.from(indices.buffer).toString('base64')
        const meta_info = { finish_reason: { type: 'stop' }, output_token_logprobs, routed_experts, ...meta }
        return response.end(JSON.stringify({ meta_info }))
      })
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const routed = await connectSglang({ url: `http://127.0.0.1:${port}`, routedExperts: { layers: 2, topK: 2 } })
    const request = { ...(await requestOf()), promptIds: Int32Array.of(1, 2, 3, 4), knownExpertRows: 3 }
    const reply = await routed.generate(request).catch((error: unknown) => error)
    await routed[Symbol.asyncDispose]()
    await new Promise((resolve) => server.close(resolve))
    return { reply, body: bodies[0] }
  }

  test('are asked for from the first unknown position on, and read as they are', async () => {
    const { reply, body } = await route(3)
    expect(body).toMatchObject({ return_routed_experts: true, routed_experts_start_len: 3 })
    const indices = Int32Array.from({ length: 3 * 2 * 2 }, (_, index) => index)
    expect(reply).toMatchObject({ routedExperts: { positionStart: 3, layers: 2, topK: 2, indices } })
  })

  test('are taken from servers that begin at the first position whatever they are asked', async () => {
    expect((await route(0)).reply).toMatchObject({ routedExperts: { positionStart: 0 } })
  })

  test.each([
    ['of another shape', 2, {}],
    ['that are missing', 3, { routed_experts: null }],
    ['that are no 32-bit integers', 3, { routed_experts: 'AAA=' }],
  ])('%s are refused', async (_name, from, meta) => {
    expect((await route(from, meta)).reply).toMatchObject({ code: 'engine_bad_response' })
  })

  test('may be missing in an answer that was aborted', async () => {
    const { reply } = await route(3, { finish_reason: { type: 'abort' }, routed_experts: null })
    expect(reply).toMatchObject({ finishReason: 'abort' })
    expect(reply).not.toHaveProperty('routedExperts')
  })
})

describe('an engine that is not there', () => {
  test.each(['nonsense', 'ftp://127.0.0.1', ''])('%j is no address', async (url) => {
    await expect(connectSglang({ url })).rejects.toMatchObject({ code: 'engine_unreachable' })
  })

  test('a closed port is unreachable, and the message says what to look at', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    await expect(connectSglang({ url: `http://127.0.0.1:${port}` })).rejects.toMatchObject({
      code: 'engine_unreachable',
      message: expect.stringContaining('is it running'),
    })
  })
})
