import { randomBytes, timingSafeEqual } from 'node:crypto'
import { chmod, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { type Engine, type Logger, silentLogger, systemClock, WireError } from '@agentrl/spec'
import type { ReasoningFormatName, ToolCallFormatName } from '@agentrl/tool-calls'
import { createAdaptorServer } from '@hono/node-server'
import type { TrajectoryOptions } from '../alignment/trajectory.ts'
import type { Renderer } from '../render/renderer.ts'
import type { SegmentCacheStats } from '../render/segment-cache.ts'
import type { Tokenizer } from '../render/tokenizer.ts'
import { createAdapterApp } from './app.ts'
import { SessionStore } from './session-store.ts'
import { ToolHeads } from './tool-heads.ts'

/**
 * The adapter: to a coding agent it is its vendor's API; to the engine it is a
 * client that sends and gets token ids. Listens on TCP, on a Unix socket, or on
 * both; nothing listens until `listenTcp` or `listenUnix` is called.
 */
export interface AdapterOptions {
  readonly engine: Engine
  readonly tokenizer: Tokenizer
  readonly renderer: Renderer
  /** Ids that end an output. At least one. */
  readonly stopTokenIds: readonly number[]
  readonly toolCallFormat: ToolCallFormatName
  readonly reasoningFormat: ReasoningFormatName
  /** Default: inherit. */
  readonly trajectory?: TrajectoryOptions
  /** What `/v1/models` lists. Default `agentrl`. */
  readonly modelName?: string
  /** Largest request body. Default 64 MiB. */
  readonly maxBodyBytes?: number
  /** Engine calls made again after a retryable failure. Default 2. */
  readonly engineRetries?: number
  /** Time after which a waiting stream starts and sends pings. Default 15 seconds. */
  readonly pingIntervalMs?: number
  /** Key of the control calls. Default: random, readable as `controlToken`. */
  readonly controlToken?: string
  readonly logger?: Logger
}

export interface Adapter extends AsyncDisposable {
  readonly sessions: SessionStore
  readonly controlToken: string
  /** Answers a request in this process, without a socket. */
  fetch(request: Request): Promise<Response>
  /** Text segments that were encoded once and found again, over all sessions so far. */
  readonly segmentCache: SegmentCacheStats
  /** Listens on loopback, unless another host is named. Port 0 (default) picks a free one. Returns the base URL. */
  listenTcp(options?: { readonly host?: string; readonly port?: number }): Promise<string>
  /** Listens on a Unix socket that only this user may open. */
  listenUnix(path: string): Promise<void>
}

export function createAdapter(options: AdapterOptions): Adapter {
  if (options.stopTokenIds.length === 0) {
    throw new WireError('wire_unsupported', 'An adapter needs at least one stop token id: none was found or given')
  }
  const { historyReasoning } = options.renderer
  const sessions = new SessionStore({ trajectory: options.trajectory ?? {}, historyReasoning })
  const controlToken = options.controlToken ?? randomBytes(32).toString('hex')
  const logger = options.logger ?? silentLogger
  const app = createAdapterApp({
    sessions,
    modelName: options.modelName ?? 'agentrl',
    maxBodyBytes: options.maxBodyBytes ?? 64 * 1024 * 1024,
    pingIntervalMs: options.pingIntervalMs ?? 15_000,
    isControlToken: (candidate) => sameSecret(candidate, controlToken),
    logger,
    turn: {
      engine: options.engine,
      tokenizer: options.tokenizer,
      renderer: options.renderer,
      toolHeads: new ToolHeads(),
      stopTokenIds: options.stopTokenIds,
      toolCallFormat: options.toolCallFormat,
      reasoningFormat: options.reasoningFormat,
      engineRetries: options.engineRetries ?? 2,
      clock: systemClock,
      newId: () => randomBytes(12).toString('hex'),
      logger,
    },
  })
  const servers: ReturnType<typeof createAdaptorServer>[] = []
  const sockets: string[] = []

  async function listen(start: (server: ReturnType<typeof createAdaptorServer>) => void): Promise<AddressInfo | null> {
    const server = createAdaptorServer({ fetch: app.fetch })
    await new Promise<void>((resolve, reject) => {
      server.once('listening', resolve)
      server.once('error', reject)
      start(server)
    })
    servers.push(server)
    const address = server.address()
    return typeof address === 'object' ? address : null
  }

  return {
    sessions,
    controlToken,
    fetch: async (request) => app.fetch(request),
    get segmentCache() {
      return options.renderer.cacheStats
    },
    async listenTcp({ host = '127.0.0.1', port = 0 } = {}) {
      const address = await listen((server) => server.listen(port, host))
      return `http://${host.includes(':') ? `[${host}]` : host}:${address?.port ?? port}`
    },
    async listenUnix(path) {
      await listen((server) => server.listen(path))
      sockets.push(path)
      await chmod(path, 0o600)
    },
    async [Symbol.asyncDispose]() {
      await sessions.closeAll()
      const closing = servers.splice(0).map(
        (server) =>
          new Promise<void>((resolve) => {
            server.close(() => resolve())
            if ('closeAllConnections' in server) server.closeAllConnections()
          }),
      )
      await Promise.all(closing)
      await Promise.all(sockets.splice(0).map((path) => rm(path, { force: true })))
    },
  }
}

function sameSecret(candidate: string, secret: string): boolean {
  const left = Buffer.from(candidate)
  const right = Buffer.from(secret)
  return left.length === right.length && timingSafeEqual(left, right)
}
