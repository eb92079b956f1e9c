import type { EngineReply } from '@agentrl/spec'
import { expect, test } from 'vitest'
import type { Tokenizer } from '../render/tokenizer.ts'
import { smallTokenizer } from '../testing/small-tokenizer.ts'
import { createReplayAdapter } from './recordings/replay-recording.ts'

/** What an engine returned is in the ledger, whatever keeps it from becoming a turn. */
const tokenizer = smallTokenizer()
const stopTokenId = tokenizer.tokenToId('<|im_end|>') as number
const sampled: EngineReply = {
  outputIds: Int32Array.of(5, 6, stopTokenId),
  outputLogprobs: Float32Array.of(-1, -2, -3),
  finishReason: 'stop',
}

test.each<{ readonly why: string; readonly code: string; reply?: EngineReply; tokenizer?: Partial<Tokenizer> }>([
  {
    why: 'a log-probability is no number',
    code: 'trajectory_invalid_turn',
    reply: { ...sampled, outputLogprobs: Float32Array.of(-1, Number.NaN, -3) },
  },
  {
    why: 'there are fewer log-probabilities than ids',
    code: 'trajectory_invalid_turn',
    reply: { ...sampled, outputLogprobs: Float32Array.of(-1) },
  },
  {
    why: 'it can not be decoded',
    code: 'unforeseen',
    tokenizer: { decode: async () => Promise.reject(new Error('the worker is gone')) },
  },
])('a reply is counted when $why', async ({ code, reply = sampled, tokenizer: changed = {} }) => {
  const { adapter, engine } = createReplayAdapter({ ...tokenizer, ...changed })
  engine.generate = async () => reply
  const session = adapter.sessions.open()
  const response = await adapter.fetch(
    new Request('http://adapter/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${session.id}` },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }] }),
    }),
  )
  expect(response.status).toBeGreaterThanOrEqual(500)
  const { samples, ledger } = session.linearize({ reward: 1 })
  expect(samples).toEqual([])
  expect(ledger).toMatchObject({ sampledTokens: 3, buckets: { disconnected: 3 }, lostCalls: 0 })
  expect(session.counters.toJSON()).toMatchObject({ [`reply_unreadable.${code}`]: 1 })
})
