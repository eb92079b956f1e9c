import type { Tokenizer } from '../render/tokenizer.ts'
import type { LoadedTokenizer } from '../tokenizers/load-tokenizer-directory.ts'
import { createBenchAdapter } from './bench-adapter.bench.ts'
import type { BenchConversation } from './conversation.bench.ts'

/** Many sessions that begin alike, each idle behind a few turns of its own. */
export interface SessionsCost {
  readonly sessions: number
  readonly turns: number
  /** Tokens of the first prompt, which all share but its last message. */
  readonly headTokens: number
  /** Times that a text of more than half the head was encoded. */
  readonly headEncodings: number
  /** What the process holds more than before the sessions, for each: resident memory, after a collection. */
  readonly residentBytes: number
  /** Ids and log-probabilities of a session, each token once. */
  readonly tokenBytes: number
  readonly cacheHits: number
  readonly cacheMisses: number
}

export async function measureSessions(
  model: LoadedTokenizer,
  conversation: BenchConversation,
  sessions: number,
): Promise<SessionsCost> {
  const long = JSON.parse(conversation.bodies[0] ?? '').messages[0].content.length / 2
  const counter = { headEncodings: 0 }
  const adapter = createBenchAdapter({ ...model, tokenizer: countLongTexts(model.tokenizer, long, counter) })
  const turns = conversation.bodies.length
  const replies = []
  for (const output of conversation.outputs) replies.push(await adapter.replyOf(output))
  const sampled = replies.reduce((total, reply) => total + reply.outputIds.length, 0)
  counter.headEncodings = 0
  const before = residentAfterCollection()
  const held = []
  let headTokens = 0
  for (let index = 0; index < sessions; index += 1) {
    const session = adapter.openSession()
    held.push(session)
    for (const [turn, body] of conversation.bodies.entries()) {
      // A task of its own for each session, so that only the head is shared.
      const text = body.replace('"role":"user","content":"', `"role":"user","content":"Task ${index}. `)
      const reply = replies[turn]
      if (reply !== undefined) await adapter.turn(session, JSON.parse(text), copyOf(reply))
      if (turn === 0) headTokens = adapter.promptTokens
    }
  }
  const residentBytes = (residentAfterCollection() - before) / sessions
  const { hits, misses } = adapter.renderer.cacheStats
  if (held.some((session) => session.trajectory.turnCount !== turns)) throw new RangeError('a turn was not recorded')
  return {
    sessions,
    turns,
    headTokens,
    headEncodings: counter.headEncodings,
    residentBytes,
    tokenBytes: (adapter.promptTokens + (replies.at(-1)?.outputIds.length ?? 0)) * 4 + sampled * 4,
    cacheHits: hits,
    cacheMisses: misses,
  }
}

/** An engine's reply is its own. */
function copyOf<Reply extends { readonly outputIds: unknown; readonly outputLogprobs: unknown }>(reply: Reply): Reply {
  return {
    ...reply,
    outputIds: (reply.outputIds as Int32Array).slice(),
    outputLogprobs: (reply.outputLogprobs as Float32Array).slice(),
  }
}

function countLongTexts(tokenizer: Tokenizer, characters: number, counter: { headEncodings: number }): Tokenizer {
  return {
    ...tokenizer,
    encodePlain: async (text) => {
      if (text.length > characters) counter.headEncodings += 1
      return tokenizer.encodePlain(text)
    },
  }
}

function residentAfterCollection(): number {
  if (globalThis.gc === undefined) throw new RangeError('Run with --expose-gc')
  for (let round = 0; round < 4; round += 1) globalThis.gc()
  return process.memoryUsage().rss
}
