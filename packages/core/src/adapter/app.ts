import { AgentRlError, EngineError, errorCodes, isAgentRlError, type Logger, WireError } from '@agentrl/spec'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { streamSSE } from 'hono/streaming'
import { clientSignal } from './client-signal.ts'
import { readFinishBody, readOpenBody } from './control-wire.ts'
import { anthropicMessages } from './protocols/anthropic-messages/anthropic-messages.ts'
import { openAiChat } from './protocols/openai-chat/openai-chat.ts'
import { parseBody } from './protocols/parse-body.ts'
import type { ChatReply, ChatRequest, Protocol, StreamEvent } from './protocols/protocol.ts'
import { countPromptTokens, runTurn } from './run-turn.ts'
import type { Session } from './session.ts'
import type { SessionStore } from './session-store.ts'
import type { TurnClient } from './turn-context.ts'
import type { TurnParts } from './turn-parts.ts'

/** The routes of the adapter, without anything that listens. */
export interface AdapterAppOptions {
  readonly sessions: SessionStore
  readonly turn: TurnParts
  readonly modelName: string
  readonly maxBodyBytes: number
  readonly pingIntervalMs: number
  readonly isControlToken: (candidate: string) => boolean
  readonly logger: Logger
}

const protocols: readonly Protocol[] = [openAiChat, anthropicMessages]

export function createAdapterApp(options: AdapterAppOptions): Hono {
  const app = new Hono()
  for (const protocol of protocols) addProtocol(app, protocol, options)
  addControl(app, options)
  app.get('/healthz', (context) => context.json({ ok: true }))
  app.get('/v1/models', (context) =>
    context.json({ object: 'list', data: [{ id: options.modelName, object: 'model', owned_by: 'agentrl' }] }),
  )
  // Clients look whether anybody is there before they speak.
  app.get('/', (context) => context.body(null, 200))
  app.get('/api/hello', (context) => context.body(null, 200))
  app.notFound((context) =>
    respondError(
      context,
      openAiChat,
      new WireError('wire_not_found', `No such endpoint: ${context.req.method} ${context.req.path}`),
    ),
  )
  return app
}

function addProtocol(app: Hono, protocol: Protocol, options: AdapterAppOptions): void {
  const limit = bodyLimit({
    maxSize: options.maxBodyBytes,
    onError: (context) =>
      respondError(
        context,
        protocol,
        new WireError('wire_body_too_large', `The body is over the limit of ${options.maxBodyBytes} bytes`),
      ),
  })
  const guarded = (handle: (context: Context) => Promise<Response>) => async (context: Context) => {
    try {
      return await handle(context)
    } catch (error) {
      return respondError(context, protocol, toWireError(error, options.logger))
    }
  }
  app.post(
    protocol.path,
    limit,
    guarded(async (context) => {
      const session = options.sessions.get(keyOf(context))
      const request = protocol.readRequest(await readJson(context))
      return request.isStreaming
        ? streamTurn(context, { protocol, session, request, options })
        : context.json(protocol.writeReply(await runTurn(session, request, options.turn, clientOf(context))) as object)
    }),
  )
  if (protocol.countTokensPath === null) return
  app.post(
    protocol.countTokensPath,
    limit,
    guarded(async (context) => {
      const session = options.sessions.get(keyOf(context))
      const request = protocol.readRequest(await readJson(context))
      return context.json(protocol.writeTokenCount(await countPromptTokens(session, request, options.turn)) as object)
    }),
  )
}

interface StreamedTurn {
  readonly protocol: Protocol
  readonly session: Session
  readonly request: ChatRequest
  readonly options: AdapterAppOptions
}

/**
 * A reply that comes soon decides the status: an engine that fails at once is a
 * proper HTTP error. One that takes longer gets a stream that is kept alive by
 * pings, and a failure after that is an event in it.
 */
async function streamTurn(context: Context, turn: StreamedTurn): Promise<Response> {
  const { protocol, session, request, options } = turn
  const pending = runTurn(session, request, options.turn, clientOf(context))
  const first = await settledWithin(pending, options.pingIntervalMs)
  if (first.kind === 'failed') throw first.error
  return streamSSE(context, async (stream) => {
    const send = (event: StreamEvent) => stream.writeSSE(event)
    const ping = async () => {
      if ('comment' in protocol.streamPing) await stream.write(`: ${protocol.streamPing.comment}\n\n`)
      else await send(protocol.streamPing)
    }
    let outcome: Outcome = first
    while (outcome.kind === 'waiting') {
      await ping()
      outcome = await settledWithin(pending, options.pingIntervalMs)
    }
    if (outcome.kind === 'failed') {
      const error = toWireError(outcome.error, options.logger)
      await send(protocol.writeStreamError(error, statusOf(error)))
      return
    }
    for (const event of protocol.writeStream(outcome.reply, request)) await send(event)
  })
}

type Outcome =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'replied'; readonly reply: ChatReply }
  | { readonly kind: 'failed'; readonly error: unknown }

async function settledWithin(pending: Promise<ChatReply>, timeoutMs: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const waiting = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'waiting' }), timeoutMs)
  })
  const settled = pending.then(
    (reply): Outcome => ({ kind: 'replied', reply }),
    (error: unknown): Outcome => ({ kind: 'failed', error }),
  )
  try {
    return await Promise.race([settled, waiting])
  } finally {
    clearTimeout(timer)
  }
}

/** Opening, finishing and dropping sessions over HTTP, for a trainer in another process. */
function addControl(app: Hono, { sessions, isControlToken, maxBodyBytes, logger }: AdapterAppOptions): void {
  const control = (path: string, handle: (body: unknown) => Promise<object>) => {
    const guarded = async (context: Context) => {
      try {
        if (!isControlToken(keyOf(context))) {
          throw new WireError(
            'wire_unauthorized',
            'A control call needs the control token as x-api-key or bearer token',
          )
        }
        return context.json(await handle(context.req.method === 'GET' ? {} : await readJson(context)))
      } catch (error) {
        return respondError(context, openAiChat, toWireError(error, logger))
      }
    }
    const limit = bodyLimit({ maxSize: maxBodyBytes })
    for (const prefix of ['/control', '/_slime']) app.on(['GET', 'POST'], `${prefix}/${path}`, limit, guarded)
  }
  control('open_session', async (body) => {
    const session = sessions.open(readOpenBody(body))
    return { session_id: session.id }
  })
  control('finish_session', async (body) => {
    const { session, options } = readFinishBody(body)
    const finished = await sessions.finish(session, options)
    return {
      samples: finished.samples.map((sample) => ({
        ...sample,
        tokens: [...sample.tokens],
        lossMask: [...sample.lossMask],
        logprobs: [...sample.logprobs],
      })),
      ledger: finished.ledger,
      counts: finished.counts,
      drifts: finished.drifts,
    }
  })
  control('drop_session', async (body) => {
    await sessions.drop(readFinishBody(body).session)
    return { dropped: true }
  })
  control('status', async () => sessions.status())
}

/** The session id that a client sent as its API key. */
function keyOf(context: Context): string {
  const apiKey = context.req.header('x-api-key')
  if (apiKey !== undefined && apiKey !== '') return apiKey
  const authorization = context.req.header('authorization') ?? ''
  return /^bearer /i.test(authorization) ? authorization.slice(7).trim() : ''
}

async function readJson(context: Context): Promise<unknown> {
  return parseBody(await context.req.text())
}

function clientOf(context: Context): TurnClient {
  return { signal: clientSignal(context), header: (name) => context.req.header(name) }
}

function respondError(context: Context, protocol: Protocol, error: AgentRlError): Response {
  const status = statusOf(error)
  return context.json(protocol.writeError(error, status) as object, status as 400)
}

const statuses: Partial<Record<AgentRlError['code'], number>> = {
  wire_unauthorized: 401,
  wire_not_found: 404,
  wire_body_too_large: 413,
  wire_turn_cap: 429,
  wire_session_closed: 503,
  wire_internal: 500,
  engine_timeout: 504,
  engine_rejected_request: 400,
  // The template refuses this conversation, and will the next time: nothing to try again.
  trajectory_template: 400,
}

function statusOf(error: AgentRlError): number {
  return statuses[error.code] ?? (/^(wire|value|config)_/.test(error.code) ? 400 : 502)
}

type EngineCode = keyof typeof errorCodes.engine

function isEngineCode(code: string): code is EngineCode {
  return Object.hasOwn(errorCodes.engine, code)
}

/** Who reads the answer is an agent in a sandbox: where the engine listens, and what it answered, is not for it. */
function toAgentsError(error: AgentRlError, code: EngineCode, logger: Logger): AgentRlError {
  logger.error('the engine failed on a request', { code, error: error.message })
  return new EngineError(code, errorCodes.engine[code])
}

function toWireError(error: unknown, logger: Logger): AgentRlError {
  if (isAgentRlError(error)) return isEngineCode(error.code) ? toAgentsError(error, error.code, logger) : error
  if (error instanceof RangeError && error.message.includes('call stack')) {
    return new WireError('wire_invalid_body', 'The body nests too deeply', { cause: error })
  }
  logger.error('a request failed in a way that was not foreseen', { error: String(error) })
  return new AgentRlError('wire_internal', 'The adapter failed on this request; its log says why', { cause: error })
}
