import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { smallTokenizer } from '../testing/small-tokenizer.ts'
import { createReplayAdapter } from './recordings/replay-recording.ts'

/**
 * A client that loses its connection in the middle of an answer, over a real
 * socket: the answer is larger than what a kernel buffers for one, so that it
 * can't have gone out when the client leaves after its first bytes.
 */
const tokenizer = smallTokenizer()
const stopTokenId = tokenizer.tokenToId('<|im_end|>') as number
const answer = 'word and more '.repeat(1_000_000)

async function leaveAfterFirstBytes(url: URL, apiKey: string, body: string): Promise<void> {
  const socket = connect(Number(url.port), url.hostname)
  const head = `POST ${url.pathname} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: ${body.length}`
  socket.write(`${head}\r\n\r\n${body}`)
  await once(socket, 'data')
  socket.destroy()
}

test.each([true, false])('gets the same answer when it asks again, streamed: %s', async (stream) => {
  const { adapter, engine } = createReplayAdapter({ ...tokenizer, decode: async () => answer })
  let engineCalls = 0
  engine.generate = async () => {
    engineCalls += 1
    const outputIds = Int32Array.of(5, 6, stopTokenId)
    return { outputIds, outputLogprobs: Float32Array.of(-1, -2, -3), finishReason: 'stop' }
  }
  const url = new URL('/v1/chat/completions', await adapter.listenTcp())
  const session = adapter.sessions.open()
  const buckets = () => session.linearize({ reward: 1 }).ledger.buckets
  const body = JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'go' }] })

  await leaveAfterFirstBytes(url, session.id, body)
  await vi.waitFor(() => expect(buckets()).toMatchObject({ disconnected: 3, trained: 0 }))
  const headers = { authorization: `Bearer ${session.id}` }
  const response = await fetch(url, { method: 'POST', headers, body })
  expect((await response.text()).length).toBeGreaterThan(answer.length)
  expect(engineCalls).toBe(1)
  expect(buckets()).toMatchObject({ disconnected: 0, trained: 3 })
  await adapter[Symbol.asyncDispose]()
  expect(buckets()).toMatchObject({ disconnected: 0, trained: 3 })
})
