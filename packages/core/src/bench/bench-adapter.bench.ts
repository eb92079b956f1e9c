import { type Engine, type EngineReply, sessionId, silentLogger, systemClock } from '@agentrl/spec'
import { openAiChat } from '../adapter/protocols/openai-chat/openai-chat.ts'
import { runTurn } from '../adapter/run-turn.ts'
import { Session } from '../adapter/session.ts'
import { ToolHeads } from '../adapter/tool-heads.ts'
import type { TurnParts } from '../adapter/turn-parts.ts'
import { generateBody } from '../engines/generate-body.ts'
import { PromptBytes } from '../engines/prompt-bytes.ts'
import { createRenderer, type Renderer } from '../render/renderer.ts'
import type { LoadedTokenizer } from '../tokenizers/load-tokenizer-directory.ts'

/**
 * An adapter without sockets: bodies go in as text, the bytes for the engine
 * and for the client are made and thrown away, and the engine's replies lie
 * ready, so that its time is none.
 */
export interface BenchAdapter {
  readonly renderer: Renderer
  /** Tokens of the latest prompt. */
  readonly promptTokens: number
  openSession(): Session
  /** One turn, from the parsed body to the bytes of the reply. */
  turn(session: Session, raw: unknown, reply: EngineReply): Promise<void>
  /** What an engine returns for a text. */
  replyOf(output: string): Promise<EngineReply>
}

export function createBenchAdapter(model: LoadedTokenizer): BenchAdapter {
  const { tokenizer, stopTokenIds, chatTemplate } = model
  const renderer = createRenderer({ ...model, chatTemplate: chatTemplate ?? '' })
  const promptBytes = new PromptBytes()
  const ready: EngineReply[] = []
  let promptTokens = 0
  let sentBytes = 0
  let ids = 0
  const engine: Engine = {
    name: 'bench',
    isStandIn: true,
    logprobMode: 'temperature',
    generate: async (request) => {
      const body = generateBody(request, { wantsExperts: false, promptBytes })
      sentBytes += body.reduce((total, piece) => total + piece.byteLength, 0)
      promptTokens = request.promptIds.length
      return ready.pop() as EngineReply
    },
  }
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
  return {
    renderer,
    get promptTokens() {
      return promptTokens
    },
    openSession() {
      ids += 1
      const limits = { maxContextTokens: 2_000_000, turnCap: 10_000 }
      return new Session(sessionId(`bench-${ids}`), limits, { trajectory: {}, historyReasoning: 'keep' })
    },
    async turn(session, raw, reply) {
      ready.push(reply)
      const request = openAiChat.readRequest(raw)
      const client = { signal: new AbortController().signal, header: () => undefined }
      const answer = await runTurn(session, request, parts, client)
      if (JSON.stringify(openAiChat.writeReply(answer)) === '' || sentBytes === 0) throw new RangeError('no reply')
    },
    async replyOf(output) {
      const outputIds = Int32Array.of(...(await tokenizer.encode(output)), stopTokenIds[0] ?? 0)
      const outputLogprobs = Float32Array.from(outputIds, (_, index) => -0.01 * ((index % 100) + 1))
      return { outputIds, outputLogprobs, finishReason: 'stop' }
    },
  }
}
