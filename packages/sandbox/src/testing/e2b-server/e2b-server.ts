import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sandbox, SandboxDriver } from '../../sandbox.ts'
import type { BootOptions } from '../../sandbox-types.ts'
import { createEnvd, type Envd } from './envd.ts'

/**
 * A small server that an E2B SDK takes for E2B: control plane and data plane in
 * one process, over the real wire. What it starts are sandboxes of a driver of
 * ours, so commands really run. The data plane is told apart by the header
 * `E2b-Sandbox-Id`, which SDKs send when all sandboxes share one URL:
 *
 *     new Sandbox.create('any', { apiUrl: server.url, sandboxUrl: server.url, apiKey: server.apiKey })
 *
 * `/sandboxes` (SDKs up to 2.50) and `/v2/sandboxes` (from 2.51) are served
 * alike. Faults can be put in the way of requests.
 */
export interface E2bServer extends AsyncDisposable {
  /** For `apiUrl` and `sandboxUrl`. */
  readonly url: string
  readonly apiKey: string
  /** What was asked of the control plane, in order. */
  readonly requests: readonly E2bRequest[]
  /** How many sandboxes are alive. */
  readonly sandboxCount: number
  inject(fault: E2bFault): void
}

export interface E2bRequest {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/** Something that goes wrong with the next `times` requests whose path matches. */
export type E2bFault = { readonly path: RegExp; readonly method?: string; readonly times: number } & (
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The request does its work, and its answer is lost. */
  | { readonly kind: 'lost-answer' }
  /** The connection is cut after so many bytes of the answer's body. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  | { readonly kind: 'delay'; readonly delayMs: number }
)

export interface E2bServerOptions {
  /** Boots what stands behind a sandbox. */
  readonly driver: SandboxDriver
  /** For those boots, beside what a request says. */
  readonly boot: Omit<BootOptions, 'labels' | 'lifetimeMs'>
  /** Default a random one. */
  readonly apiKey?: string
}

interface Hosted {
  readonly sandbox: Sandbox
  readonly envd: Envd
  readonly token: string
  readonly templateId: string
  readonly metadata: Readonly<Record<string, string>>
  readonly startedAt: number
  endsAt: number
}

/** Starts the server on a free port of the loopback. */
export async function createE2bServer(options: E2bServerOptions): Promise<E2bServer> {
  const { apiKey = `e2b_${randomBytes(20).toString('hex')}` } = options
  const hosted = new Map<string, Hosted>()
  const requests: E2bRequest[] = []
  const faults: (E2bFault & { left: number })[] = []

  async function create(body: CreateBody): Promise<unknown> {
    const lifetimeMs = (body.timeout ?? 300) * 1_000
    const labels = { run: 'e2b-server', attempt: `${hosted.size}` }
    const env = { ...options.boot.env, ...body.envVars }
    const sandbox = await options.driver.boot({ ...options.boot, ...egressOf(body), labels, lifetimeMs, env })
    const sandboxId = `i${randomBytes(9).toString('hex')}`
    const startedAt = Date.now()
    const token = randomBytes(12).toString('hex')
    const { templateID: templateId, metadata = {} } = body
    hosted.set(sandboxId, {
      sandbox,
      envd: createEnvd(sandbox),
      token,
      templateId,
      metadata,
      startedAt,
      endsAt: startedAt + lifetimeMs,
    })
    return {
      sandboxID: sandboxId,
      templateID: templateId,
      clientID: 'none',
      envdVersion: '0.6.2',
      envdAccessToken: token,
      domain: null,
    }
  }

  function describe(sandboxId: string, { templateId, metadata, startedAt, endsAt }: Hosted): unknown {
    return {
      sandboxID: sandboxId,
      templateID: templateId,
      clientID: 'none',
      metadata,
      startedAt: new Date(startedAt).toISOString(),
      endAt: new Date(endsAt).toISOString(),
      state: 'running',
      cpuCount: 1,
      memoryMB: 512,
      diskSizeMB: 1024,
      envdVersion: '0.6.2',
    }
  }

  /** The sandbox of an id, unless its life is over. */
  function find(sandboxId: string): Hosted | undefined {
    const one = hosted.get(sandboxId)
    if (one === undefined || Date.now() < one.endsAt) return one
    hosted.delete(sandboxId)
    return undefined
  }

  async function serveControl(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const text = (await buffer(request)).toString('utf8')
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    requests.push({ method: request.method ?? '', path: url.pathname, body })
    if (request.headers['x-api-key'] !== apiKey) return answer(response, 401, { code: 401, message: 'invalid API key' })
    const [, sandboxId, action] = /^(?:\/v2)?\/sandboxes(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(url.pathname) ?? []
    if (sandboxId === undefined) {
      if (request.method === 'POST') return answer(response, 201, await create(body as CreateBody))
      const wanted = readMetadata(url)
      const found = [...hosted].filter(([, { metadata }]) => wanted.every(([name, value]) => metadata[name] === value))
      return answer(
        response,
        200,
        found.map(([id, one]) => describe(id, one)),
      )
    }
    const one = find(sandboxId)
    if (one === undefined) return answer(response, 404, { code: 404, message: `sandbox ${sandboxId} not found` })
    if (request.method === 'DELETE') {
      hosted.delete(sandboxId)
      await one.sandbox[Symbol.asyncDispose]()
      return void response.writeHead(204).end()
    }
    if (action === 'timeout') {
      const lifetimeMs = (body as { timeout: number }).timeout * 1_000
      await one.sandbox.extendLifetime(lifetimeMs)
      one.endsAt = Date.now() + lifetimeMs
      return void response.writeHead(204).end()
    }
    answer(response, 200, { ...(describe(sandboxId, one) as object), envdAccessToken: one.token, domain: null })
  }

  async function serveData(
    sandboxId: string,
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<void> {
    const one = find(sandboxId)
    if (one === undefined) return answer(response, 502, { sandboxId, message: 'The sandbox was not found', code: 502 })
    if (request.headers['x-access-token'] !== one.token)
      return answer(response, 401, { code: 401, message: 'invalid token' })
    await one.envd(request, response, url)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const fault = faults.find(
      ({ left, path, method }) =>
        left > 0 && path.test(url.pathname) && (method === undefined || method === request.method),
    )
    if (fault !== undefined) {
      fault.left -= 1
      if (fault.kind === 'status') {
        request.resume()
        return answer(response, fault.status, { code: fault.status, message: 'injected' }, fault.headers)
      }
      if (fault.kind === 'delay') await delay(fault.delayMs)
      if (fault.kind === 'lost-answer') cutAfter(response, 0, true)
      if (fault.kind === 'cut') cutAfter(response, fault.afterBytes, false)
    }
    const sandboxId = request.headers['e2b-sandbox-id']
    if (typeof sandboxId === 'string') await serveData(sandboxId, request, response, url)
    else await serveControl(request, response, url)
  }

  const server = createServer((request, response) => {
    response.on('error', () => {})
    serve(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else answer(response, 500, { code: 500, message: String(error) })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey,
    requests,
    get sandboxCount() {
      return [...hosted.keys()].filter((id) => find(id) !== undefined).length
    },
    inject(fault) {
      faults.push({ ...fault, left: fault.times })
    },
    async [Symbol.asyncDispose]() {
      const all = [...hosted.values()]
      hosted.clear()
      await Promise.all(all.map(({ sandbox }) => sandbox[Symbol.asyncDispose]()))
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The policy that a request asks for; a request that asks for none gets the one of the server. */
function egressOf({ allow_internet_access, network }: CreateBody): Pick<BootOptions, 'egress'> | undefined {
  if (network?.allowOut !== undefined) return { egress: { kind: 'hosts', hosts: network.allowOut } }
  return allow_internet_access === false ? { egress: { kind: 'none' } } : undefined
}

interface CreateBody {
  readonly allow_internet_access?: boolean
  readonly network?: { readonly allowOut?: readonly string[] }
  readonly templateID: string
  readonly timeout?: number
  readonly metadata?: Readonly<Record<string, string>>
  readonly envVars?: Readonly<Record<string, string>>
}

function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** `?metadata=` holds a query string of its own, whose parts are encoded once more. */
function readMetadata(url: URL): readonly (readonly [string, string])[] {
  const pairs = [...new URLSearchParams(url.searchParams.get('metadata') ?? '')]
  return pairs.map(([name, value]) => [decodeURIComponent(name), decodeURIComponent(value)])
}

/** Lets so many bytes of the answer's body be written, or none and no head either, and cuts the connection then. */
function cutAfter(response: ServerResponse, afterBytes: number, isWholeAnswerLost: boolean): void {
  let left = afterBytes
  const write = response.write.bind(response)
  const cut = (chunk?: unknown): boolean => {
    if (isWholeAnswerLost) return true
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    if (!(bytes instanceof Uint8Array)) return true
    const part = bytes.subarray(0, left)
    left -= part.length
    write(part)
    if (part.length < bytes.length) response.destroy()
    return true
  }
  response.write = cut as typeof response.write
  response.end = ((chunk?: unknown) => {
    cut(chunk)
    response.destroy()
    return response
  }) as typeof response.end
  if (isWholeAnswerLost) response.writeHead = (() => response) as typeof response.writeHead
}
