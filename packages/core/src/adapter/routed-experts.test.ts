import { readFileSync } from 'node:fs'
import type { RoutedExperts, TokenIds } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { concatenateIds } from '../render/concatenate-ids.ts'
import { smallTokenizer } from '../testing/small-tokenizer.ts'
import type { RecordedRequest } from './recordings/recorded-request.ts'
import { createReplayAdapter, replayRecording } from './recordings/replay-recording.ts'

/** Expert routing from engine to sample, with a sub-agent between the turns of a real client. */
const layers = 3
const topK = 2

/** A row that only the ids up to its position decide, so that each can be told from any other. */
function routingOf(ids: TokenIds, positionStart: number): RoutedExperts {
  let hash = 7
  const rows = Array.from(ids.slice(0, -1), (id) => {
    hash = (Math.imul(hash, 31) + id) | 0
    return Array.from({ length: layers * topK }, (_, place) => (hash >>> place) & 127)
  })
  return { positionStart, layers, topK, indices: Int32Array.from(rows.slice(positionStart).flat()) }
}

const requests = readFileSync(
  new URL('./recordings/__fixtures__/claude-code-2.1.332-agent.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedRequest)

test('an engine is asked for the rows that no earlier turn has, and samples hold every row', async () => {
  const asked: number[] = []
  const { session, calls } = await replayRecording(requests, {
    tokenizer: smallTokenizer(),
    routing(ids, positionStart) {
      asked.push(positionStart)
      return routingOf(ids, positionStart)
    },
  })
  // From the last sampled id on: it was never an input before.
  const expected = calls.map(({ inheritsFrom }) =>
    inheritsFrom === null ? 0 : inheritsFrom.promptIds.length + inheritsFrom.outputIds.length - 1,
  )
  expect(asked).toEqual(expected)
  const { samples } = session.linearize({ reward: 1 })
  expect(samples).toHaveLength(2)
  expect(samples.map(({ routedExperts }) => routedExperts)).toEqual(samples.map(({ tokens }) => routingOf(tokens, 0)))
})

test('samples have no routing at all where one of them lacks it', async () => {
  let calls = 0
  const { session } = await replayRecording(requests, {
    tokenizer: smallTokenizer(),
    routing(ids, positionStart) {
      calls += 1
      const routing = routingOf(ids, positionStart)
      return calls === 2 ? { ...routing, layers: 1, topK: 1, indices: routing.indices.slice(0, 1) } : routing
    },
  })
  const { samples } = session.linearize({ reward: 1 })
  expect(samples.map(({ routedExperts }) => routedExperts)).toEqual([undefined, undefined])
})

test.each([
  ['rows of the part, and of the rest', true, false],
  ['no rows of the part', false, false],
  ['rows of the part, and again of all', true, true],
])('a turn that the engine aborts and goes on with has every row: %s', async (_name, isPartRouted, ignoresStart) => {
  const { adapter, engine } = createReplayAdapter(smallTokenizer())
  engine.routing = (ids, positionStart) => routingOf(ids, ignoresStart ? 0 : positionStart)
  engine.nextReply = { reasoning: '', text: 'a longer answer', calls: [] }
  const sample = engine.generate.bind(engine)
  const asked: (number | undefined)[] = []
  engine.generate = async (request) => {
    asked.push(request.knownExpertRows)
    const reply = await sample(request)
    if (asked.length > 1) return reply
    const outputIds = reply.outputIds.slice(0, 2)
    const routedExperts = routingOf(concatenateIds([request.promptIds, outputIds]), 0)
    const part = { outputIds, outputLogprobs: reply.outputLogprobs.slice(0, 2), finishReason: 'abort' as const }
    return isPartRouted ? { ...part, routedExperts } : part
  }
  const session = adapter.sessions.open()
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }] })
  const headers = { authorization: `Bearer ${session.id}` }
  await adapter.fetch(new Request('http://adapter/v1/chat/completions', { method: 'POST', headers, body }))
  const [routed] = session.linearize({ reward: 1 }).samples
  const promptLength = routed?.promptLength ?? 0
  expect(asked).toEqual([0, isPartRouted ? promptLength + 1 : 0])
  expect(routed?.routedExperts).toEqual(routingOf(routed?.tokens ?? new Int32Array(), 0))
})
