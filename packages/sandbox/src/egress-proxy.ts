import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { BlockList, connect, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Logger, SandboxError } from '@agentrl/spec'
import { matchesHost, readHostRule } from './host-rule.ts'

/**
 * An HTTP proxy of the host that knows a list of host names. A sandbox without
 * a network is given nothing but this proxy, so what is not listed is not
 * reached, whatever a command does: there is no other way out.
 *
 * It serves CONNECT for HTTPS and requests with an absolute URL for HTTP. A
 * listed name is resolved here, and one that leads to this machine itself
 * (loopback, link-local, unspecified) is refused: a name must not become a way
 * to the engine or to a cloud's metadata. Such an address can be listed as what
 * it is.
 */
export interface EgressProxyOptions {
  /** `name`, `*.name` for all names below it, or an IP address, each with or without `:port`. Default ports: 80 and 443. */
  readonly hosts: readonly string[]
  /** Where to listen. */
  readonly socketPath: string
  /** Hears of what was refused. */
  readonly logger: Logger
}

/** The port of the proxy on the sandbox's loopback. */
export const proxyPort = 3_128

/** How commands find the proxy: the names that curl, pip, npm, git and the rest look at. */
export function proxyEnvironment(): Record<string, string> {
  const url = `http://127.0.0.1:${proxyPort}`
  const direct = '127.0.0.1,localhost,::1'
  return { HTTP_PROXY: url, HTTPS_PROXY: url, http_proxy: url, https_proxy: url, NO_PROXY: direct, no_proxy: direct }
}

/** Opens the proxy. Throws `sandbox_boot_failed`. */
export async function openEgressProxy({ hosts, socketPath, logger }: EgressProxyOptions): Promise<AsyncDisposable> {
  const rules = hosts.map(readHostRule)
  const sockets = new Set<Duplex>()

  /** The address to connect to, or undefined for what is not allowed. */
  async function resolve(host: string, port: number): Promise<string | undefined> {
    const isListed = rules.some((rule) => matchesHost(rule, host, port))
    const address = isListed ? await resolvePublic(host) : undefined
    if (address === undefined) logger.warn('a sandbox was refused a connection', { host, port, isListed })
    return address
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const { host, port } = readAuthority(request.url ?? '')
    const address = await resolve(host, port)
    if (address === undefined) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const server = connect({ host: address, port })
    track(server)
    server.once('connect', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      server.write(head)
      client.pipe(server).pipe(client)
    })
    server.on('error', () => client.destroy())
    client.on('error', () => server.destroy())
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : undefined
    if (url?.protocol !== 'http:') return void response.writeHead(400).end()
    const port = url.port === '' ? 80 : Number(url.port)
    const address = await resolve(hostOf(url), port)
    if (address === undefined)
      return void response.writeHead(403).end(`${url.host} is not on the list of this sandbox\n`)
    // Of the URL, whatever the request says (RFC 9112, section 3.2.2): one address may serve many hosts.
    const headers = { ...endToEndHeaders(request.headers), host: url.host }
    const onward = httpRequest({
      host: address,
      port,
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers,
    })
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.headers))
      answer.pipe(response)
    })
    onward.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  }

  function track(socket: Duplex): void {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }

  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy())
  })
  server.on('connection', track)
  server.on('connect', (request: IncomingMessage, client: Socket, head: Buffer) => {
    tunnel(request, client, head).catch(() => client.destroy())
  })
  server.listen(socketPath)
  await once(server, 'listening').catch((cause: unknown) => {
    throw new SandboxError(
      'sandbox_boot_failed',
      `The egress proxy can not listen on ${socketPath}: ${String(cause)}`,
      { cause },
    )
  })
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Headers that speak of one connection only (RFC 9110, section 7.6.1); each side of a proxy has its own. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

function endToEndHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').toLowerCase().split(/\s*,\s*/)
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopByHop.includes(name) && !named.includes(name)),
  )
}

const ownAddresses = new BlockList()
ownAddresses.addSubnet('127.0.0.0', 8)
ownAddresses.addSubnet('169.254.0.0', 16)
ownAddresses.addSubnet('0.0.0.0', 8)
ownAddresses.addAddress('::1', 'ipv6')
ownAddresses.addAddress('::', 'ipv6')
ownAddresses.addSubnet('fe80::', 10, 'ipv6')

/** An address that was listed as one, or the address of a name unless that is this machine's own. */
async function resolvePublic(host: string): Promise<string | undefined> {
  if (isIP(host) !== 0) return host
  const found = await lookup(host).catch(() => undefined)
  if (found === undefined || ownAddresses.check(found.address, found.family === 6 ? 'ipv6' : 'ipv4')) return undefined
  return found.address
}

/** `name:port` or `[address]:port`. */
function readAuthority(authority: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(.+):(\d+)$/.exec(authority) ?? []
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}
