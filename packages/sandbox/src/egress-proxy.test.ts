import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '@agentrl/spec'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openEgressProxy } from './egress-proxy.ts'
import { matchesHost, readHostRule } from './host-rule.ts'

describe('host rules', () => {
  test.each([
    ['pypi.org', 'pypi.org', 443, true],
    ['pypi.org', 'PyPI.org.', 80, true],
    ['pypi.org', 'pypi.org', 8080, false],
    ['pypi.org', 'evil-pypi.org', 443, false],
    ['pypi.org', 'files.pypi.org', 443, false],
    ['*.pypi.org', 'files.pypi.org', 443, true],
    ['*.pypi.org', 'a.b.pypi.org', 443, true],
    ['*.pypi.org', 'pypi.org', 443, false],
    ['*.pypi.org', 'evilpypi.org', 443, false],
    ['mirror:8081', 'mirror', 8081, true],
    ['mirror:8081', 'mirror', 443, false],
    ['[::1]:80', '::1', 80, true],
    ['10.0.0.1', '10.0.0.1', 443, true],
  ])('%s for %s:%i is %s', (rule, host, port, isAllowed) => {
    expect(matchesHost(readHostRule(rule), host, port)).toBe(isAllowed)
  })

  test.each(['', '*', 'a b', 'http://x', 'x/y', '*.*.x', 'x:', 'a\nb'])('%j is refused', (entry) => {
    expect(() => readHostRule(entry)).toThrow(expect.objectContaining({ code: 'sandbox_invalid_option' }))
  })
})

describe('the egress proxy', () => {
  let folder: string
  let server: Server
  let socketPath: string
  let port: number
  let open: AsyncDisposable[] = []

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agentrl-proxy-'))
    socketPath = join(folder, 'proxy.sock')
    server = createServer((incoming, response) =>
      response.end(`${incoming.method} ${incoming.url} ${incoming.headers['x-own']} ${incoming.headers.host}`),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  afterEach(async () => {
    for (const proxy of open) await proxy[Symbol.asyncDispose]()
    open = []
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function openFor(hosts: readonly string[]): Promise<void> {
    open.push(await openEgressProxy({ hosts, socketPath, logger: silentLogger }))
  }

  async function get(path: string): Promise<{ status: number | undefined; text: string }> {
    const asking = request({ socketPath, path, headers: { 'x-own': 'kept', host: 'unlisted.example' } }).end()
    const [response] = await once(asking, 'response')
    let text = ''
    for await (const chunk of response) text += String(chunk)
    return { status: response.statusCode, text }
  }

  async function connectTo(authority: string): Promise<{ status: number | undefined; socket: Socket }> {
    const [response, socket] = await once(request({ socketPath, method: 'CONNECT', path: authority }).end(), 'connect')
    return { status: response.statusCode, socket }
  }

  test('a listed address is forwarded to with its headers, and named as the host', async () => {
    await openFor([`127.0.0.1:${port}`])
    expect(await get(`http://127.0.0.1:${port}/a?b=c`)).toEqual({
      status: 200,
      text: `GET /a?b=c kept 127.0.0.1:${port}`,
    })
  })

  test('a tunnel to a listed address carries both ways', async () => {
    await openFor([`127.0.0.1:${port}`])
    const { status, socket } = await connectTo(`127.0.0.1:${port}`)
    socket.write('GET /t HTTP/1.0\r\n\r\n')
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    expect(status).toBe(200)
    expect(text).toContain('GET /t')
  })

  test('what is not listed is refused, by either way', async () => {
    await openFor(['example.org'])
    expect((await get(`http://127.0.0.1:${port}/`)).status).toBe(403)
    const { status, socket } = await connectTo(`127.0.0.1:${port}`)
    socket.destroy()
    expect(status).toBe(403)
  })

  test('a listed name that leads to this machine is refused', async () => {
    await openFor([`localhost:${port}`])
    expect((await get(`http://localhost:${port}/`)).status).toBe(403)
  })

  test('a request that is none for a proxy is refused', async () => {
    await openFor([`127.0.0.1:${port}`])
    expect((await get('/')).status).toBe(400)
    expect((await get(`https://127.0.0.1:${port}/`)).status).toBe(400)
  })

  test('a host that does not answer is a 502', async () => {
    await openFor(['127.0.0.1:1'])
    expect((await get('http://127.0.0.1:1/')).status).toBe(502)
  })

  test('a socket that can not be listened on is a failed boot', async () => {
    const opening = openEgressProxy({ hosts: [], socketPath: join(folder, 'no/such'), logger: silentLogger })
    await expect(opening).rejects.toMatchObject({ code: 'sandbox_boot_failed' })
  })
})
