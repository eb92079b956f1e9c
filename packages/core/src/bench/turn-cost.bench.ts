import { type Engine, type EngineReply, sessionId, silentLogger, systemClock } from '@agentrl/spec'
import { openAiChat } from '../adapter/protocols/openai-chat/openai-chat.ts'
import { runTurn } from '../adapter/run-turn.ts'
import { Session } from '../adapter/session.ts'
import { ToolHeads } from '../adapter/tool-heads.ts'
import type { TurnParts } from '../adapter/turn-parts.ts'
import { generateBody } from '../engines/generate-body.ts'
import { PromptBytes } from '../engines/prompt-bytes.ts'
import { createRenderer } from '../render/renderer.ts'
import type { LoadedTokenizer } from '../tokenizers/load-tokenizer-directory.ts'
import type { BenchConversation } from './conversation.bench.ts'

/**
 * What a turn costs the adapter: CPU time of the whole process (the tokenizer's
 * thread included) from the text of the request's body to the bytes for the
 * engine, and from its reply to the recorded turn and the bytes for the client.
 * No socket is opened; the engine's time is none, since its replies lie ready.
 */
export interface TurnCost {
  /** CPU milliseconds. `total` holds the others. */
  readonly total: number
  readonly jsonParse: number
  /** Reading the parsed body as messages. */
  readonly readRequest: number
  /** Matching the messages with the session's tree. */
  readonly match: number
}

export interface TurnBench {
  /** Costs by turn, of one conversation played from its start. */
  play(): Promise<readonly TurnCost[]>
  /** Tokens of the last turn's prompt. */
  promptTokens: number
}

export async function createTurnBench(model: LoadedTokenizer, conversation: BenchConversation): Promise<TurnBench> {
  const { tokenizer, stopTokenIds, chatTemplate } = model
  const renderer = createRenderer({ ...model, chatTemplate: chatTemplate ?? '' })
  const replies: EngineReply[] = []
  for (const output of conversation.outputs) {
    const outputIds = Int32Array.of(...(await tokenizer.encode(output)), stopTokenIds[0] ?? 0)
    const outputLogprobs = Float32Array.from(outputIds, (_, index) => -0.01 * ((index % 100) + 1))
    replies.push({ outputIds, outputLogprobs, finishReason: 'stop' })
  }
  let turn = 0
  let sent: readonly Uint8Array[] | null = null
  const promptBytes = new PromptBytes()
  const engine: Engine = {
    name: 'bench',
    isStandIn: true,
    logprobMode: 'temperature',
    generate: async (request) => {
      sent = generateBody(request, { wantsExperts: false, promptBytes })
      bench.promptTokens = request.promptIds.length
      return replies[turn] as EngineReply
    },
  }
  let ids = 0
  const parts: TurnParts = {
    engine,
    tokenizer,
    renderer,
    toolHeads: new ToolHeads(),
    stopTokenIds,
    toolCallFormat: 'hermes',
    reasoningFormat: 'qwen3',
    engineRetries: 0,
    clock: systemClock,
    newId: () => {
      ids += 1
      return `id${ids}`
    },
    logger: silentLogger,
  }

  async function play(): Promise<readonly TurnCost[]> {
    const options = { maxContextTokens: 1_000_000, turnCap: 1000 }
    const session = new Session(sessionId(`bench-${ids}`), options, { trajectory: {}, historyReasoning: 'keep' })
    const matching = timeMatching(session)
    const costs: TurnCost[] = []
    for (turn = 0; turn < conversation.bodies.length; turn += 1) {
      const text = conversation.bodies[turn] ?? ''
      const before = process.cpuUsage()
      const start = performance.now()
      const raw: unknown = JSON.parse(text)
      const parsed = performance.now()
      const request = openAiChat.readRequest(raw)
      const read = performance.now()
      matching.elapsed = 0
      const client = { signal: new AbortController().signal, header: () => undefined }
      const reply = await runTurn(session, request, parts, client)
      JSON.stringify(openAiChat.writeReply(reply))
      const { user, system } = process.cpuUsage(before)
      costs.push({
        total: (user + system) / 1000,
        jsonParse: parsed - start,
        readRequest: read - parsed,
        match: matching.elapsed,
      })
    }
    if (sent === null) throw new RangeError('nothing was sent to the engine')
    return costs
  }
  const bench: TurnBench = { play, promptTokens: 0 }
  return bench
}

/** Adds up the time of the trajectory's synchronous calls. */
function timeMatching({ trajectory }: Session): { elapsed: number } {
  const clock = { elapsed: 0 }
  const names = ['findInheritance', 'inheritedRole', 'explain', 'findReplies', 'recordTurn', 'knownExpertRows'] as const
  for (const name of names) {
    const call = trajectory[name].bind(trajectory) as (...values: unknown[]) => unknown
    Object.defineProperty(trajectory, name, {
      value: (...values: unknown[]) => {
        const start = performance.now()
        try {
          return call(...values)
        } finally {
          clock.elapsed += performance.now() - start
        }
      },
    })
  }
  return clock
}
