import { Readable } from 'node:stream'
import {
  type Engine,
  EngineError,
  type EngineOptions,
  type EngineReply,
  type EngineRequest,
  excerpt,
  type FinishReason,
  type JsonValue,
  type RoutedExperts,
  type SamplingRecord,
  type WeightSpan,
} from '@agentrl/spec'
import { Agent, request } from 'undici'
import { generateBody } from './generate-body.ts'
import { PromptBytes } from './prompt-bytes.ts'
import { type GenerateBody, readGenerateBody, readServerInfo } from './wire.ts'

/**
 * SGLang's native token protocol: `POST /generate` with `input_ids` in and
 * `output_token_logprobs` out. Ids come from the log-probability rows, which
 * hold id and probability together; text is never asked for.
 *
 * Nothing is retried here: a second call would sample a second time. Cancelling
 * ends the call at the engine as well (`POST /abort_request`).
 */
export interface SglangOptions {
  /** Where the server or its router listens, for example `http://10.0.0.5:30000`. */
  readonly url: string
  /** Sent as a bearer token. Default none. */
  readonly apiKey?: string
  /** Time allowed for one call. Default 30 minutes. */
  readonly timeoutMs?: number
  /** Open connections at the most. Default 512. */
  readonly maxConnections?: number
  /**
   * Which distribution the server's log-probabilities speak of. Default
   * `temperature`; `raw` for a server that was started to return original ones.
   */
  readonly logprobMode?: SamplingRecord['logprobMode']
  /**
   * Asks for the experts that each token was routed to, for a server that was
   * started to return them. The model's shape, since answers don't say it:
   * layers that route, and experts a token. Default: not asked for.
   */
  readonly routedExperts?: { readonly layers: number; readonly topK: number }
}

/** An engine behind a connection pool, with what the server said of itself. */
export interface SglangEngine extends Engine, AsyncDisposable {
  /** The model that the server serves, where it says so. */
  readonly modelPath: string | null
}

const abortTimeoutMs = 5_000
const probeTimeoutMs = 10_000

/**
 * Connects to an SGLang server: asks it once what it is, so that a wrong
 * address fails here and not in the middle of a run. Throws `EngineError`
 * (`engine_unreachable`, `engine_http_error`, `engine_bad_response`).
 */
export async function connectSglang(options: SglangOptions, { signal }: EngineOptions = {}): Promise<SglangEngine> {
  const client = new SglangClient(options)
  try {
    return await client.connect(signal)
  } catch (error) {
    await client.close()
    throw error
  }
}

interface ExchangeOptions {
  /** In pieces, which are sent one behind the other. */
  readonly body?: readonly Uint8Array[]
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
}

class SglangClient {
  readonly #url: string
  readonly #timeoutMs: number
  readonly #logprobMode: SamplingRecord['logprobMode']
  readonly #routedExperts: SglangOptions['routedExperts']
  readonly #headers: Record<string, string>
  readonly #agent: Agent
  readonly #promptBytes = new PromptBytes()

  constructor(options: SglangOptions) {
    this.#url = readBaseUrl(options.url)
    this.#timeoutMs = options.timeoutMs ?? 30 * 60_000
    this.#logprobMode = options.logprobMode ?? 'temperature'
    this.#routedExperts = options.routedExperts
    this.#headers = {
      'content-type': 'application/json',
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    }
    // Deadlines are signals: the pool's own would cut long generations.
    this.#agent = new Agent({ connections: options.maxConnections ?? 512, headersTimeout: 0, bodyTimeout: 0 })
  }

  async connect(signal: AbortSignal | undefined): Promise<SglangEngine> {
    const info = readServerInfo(await this.#exchange('GET', '/get_model_info', { timeoutMs: probeTimeoutMs, signal }))
    return {
      name: `${info.isStandIn ? 'scripted stand-in' : 'sglang'} at ${this.#url}`,
      isStandIn: info.isStandIn,
      modelPath: info.modelPath,
      logprobMode: this.#logprobMode,
      generate: (engineRequest, engineOptions) => this.generate(engineRequest, engineOptions),
      [Symbol.asyncDispose]: () => this.close(),
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async generate(engineRequest: EngineRequest, { signal }: EngineOptions = {}): Promise<EngineReply> {
    try {
      const body = await this.#exchange('POST', '/generate', {
        body: generateBody(engineRequest, {
          wantsExperts: this.#routedExperts !== undefined,
          promptBytes: this.#promptBytes,
        }),
        timeoutMs: this.#timeoutMs,
        signal,
        // Routers with a consistent hash send the turns of one key to one engine.
        headers: engineRequest.routingKey === undefined ? {} : { 'x-smg-routing-key': engineRequest.routingKey },
      })
      const answer = readGenerateBody(body)
      const reply = toReply(answer, this.#url)
      const shape = this.#routedExperts
      // What was aborted may come without routing: the rest of the turn is asked for all of it.
      const isUnrouted = shape === undefined || (reply.finishReason === 'abort' && answer.routedExperts === null)
      return isUnrouted ? reply : { ...reply, routedExperts: expertsOf(answer, engineRequest, shape) }
    } catch (error) {
      // Whether it was cancelled, timed out or broke off: the engine must not go on sampling for nobody.
      if (!(error instanceof EngineError) || error.code === 'engine_timeout' || error.code === 'engine_unreachable') {
        await this.#abort(engineRequest.requestId)
      }
      throw error
    }
  }

  async #abort(requestId: string): Promise<void> {
    try {
      await this.#exchange('POST', '/abort_request', {
        body: [Buffer.from(JSON.stringify({ rid: requestId }))],
        timeoutMs: abortTimeoutMs,
        signal: undefined,
      })
    } catch {
      // The first error is the one to report; an engine that is gone has nothing to abort.
    }
  }

  async #exchange(method: 'GET' | 'POST', path: string, options: ExchangeOptions): Promise<JsonValue> {
    const { body, timeoutMs, signal } = options
    signal?.throwIfAborted()
    const deadline = AbortSignal.timeout(timeoutMs)
    const url = `${this.#url}${path}`
    try {
      const response = await request(url, {
        method,
        headers: { ...this.#headers, ...options.headers, ...(body === undefined ? {} : lengthOf(body)) },
        dispatcher: this.#agent,
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
        ...(body === undefined ? {} : { body: Readable.from(body, { objectMode: false }) }),
      })
      const text = await response.body.text()
      if (response.statusCode >= 400) throw httpError(url, response.statusCode, text)
      return parseBody(url, path, text)
    } catch (error) {
      if (error instanceof EngineError) throw error
      signal?.throwIfAborted()
      if (deadline.aborted) {
        throw new EngineError('engine_timeout', `The engine at ${url} did not answer within ${timeoutMs} ms`, {
          cause: error,
          isRetryable: true,
        })
      }
      throw new EngineError(
        'engine_unreachable',
        `No answer from the engine at ${url} (${reasonOf(error)}): is it running, and is the address right?`,
        { cause: error, isRetryable: true },
      )
    }
  }
}

function lengthOf(body: readonly Uint8Array[]): { readonly 'content-length': string } {
  return { 'content-length': String(body.reduce((total, piece) => total + piece.byteLength, 0)) }
}

function readBaseUrl(raw: string): string {
  if (URL.canParse(raw) && /^https?:$/.test(new URL(raw).protocol)) return raw.replace(/\/+$/, '')
  throw new EngineError(
    'engine_unreachable',
    `An engine address looks like http://127.0.0.1:30000; found "${excerpt(raw)}"`,
  )
}

function toReply(body: GenerateBody, url: string): EngineReply {
  const { finish } = body
  if (finish.type === 'abort' && finish.statusCode !== null && finish.statusCode >= 400 && finish.statusCode < 500) {
    throw new EngineError('engine_rejected_request', `The engine at ${url} refused the request: ${finish.message}`)
  }
  if (body.ids === null || body.logprobs === null) {
    throw new EngineError(
      'engine_missing_logprobs',
      `The engine at ${url} returned ${body.completionTokens ?? 'some'} tokens without output_token_logprobs; ` +
        'a turn without them can not be trained. Does a router or an old version drop return_logprob?',
    )
  }
  const count = body.ids.length
  if (body.completionTokens !== null && body.completionTokens !== count) {
    throw new EngineError(
      'engine_bad_response',
      `The engine at ${url} counts ${body.completionTokens} completion tokens but returned ${count} log-probability rows`,
    )
  }
  return {
    outputIds: Int32Array.from(body.ids),
    outputLogprobs: Float32Array.from(body.logprobs),
    finishReason: finish.type satisfies FinishReason,
    weightSpans: weightSpans(body, count),
    ...(body.cachedTokens === null ? {} : { cachedTokens: body.cachedTokens }),
  }
}

/**
 * The answer's experts, one row for each position but the last: from the one
 * that was asked for on, or, from servers that don't know how to begin later,
 * from the first on. Throws `engine_bad_response`.
 */
function expertsOf(
  { routedExperts: indices, ids }: GenerateBody,
  { promptIds, knownExpertRows = 0 }: EngineRequest,
  { layers, topK }: { readonly layers: number; readonly topK: number },
): RoutedExperts {
  const positions = promptIds.length + (ids?.length ?? 0) - 1
  const rows = (indices?.length ?? 0) / (layers * topK)
  const positionStart = rows === positions ? 0 : knownExpertRows
  if (indices !== null && positionStart + rows === positions) return { positionStart, layers, topK, indices }
  throw new EngineError(
    'engine_bad_response',
    `Routing of ${positions - knownExpertRows} positions × ${layers} layers × top ${topK} was asked for; ` +
      `found ${indices?.length ?? 'no'} indices. Does the server return routed experts, and is this the model's shape?`,
  )
}

function weightSpans(body: GenerateBody, count: number): readonly WeightSpan[] {
  if (body.weightVersions !== null) return body.weightVersions
  return body.weightVersion === null ? [] : [{ version: body.weightVersion, tokenStart: 0, tokenEnd: count }]
}

function parseBody(url: string, path: string, text: string): JsonValue {
  if (path === '/abort_request' && text.trim() === '') return null
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    throw new EngineError('engine_bad_response', `The engine at ${url} answered with no JSON: "${excerpt(text)}"`, {
      cause,
    })
  }
}

function httpError(url: string, status: number, text: string): EngineError {
  return new EngineError('engine_http_error', `The engine at ${url} answered ${status}: ${excerpt(text)}`, {
    details: { status },
    isRetryable: status === 429 || status >= 500,
  })
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' ? code : error.message
}
