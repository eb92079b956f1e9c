import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { lacksBubblewrap } from '../__fixtures__/has-bubblewrap.ts'
import { createBubblewrapDriver } from '../bubblewrap/bubblewrap-driver.ts'
import { limitBoots } from '../limit-boots.ts'
import type { SandboxDriver } from '../sandbox.ts'
import type { BootOptions } from '../sandbox-types.ts'
import { createE2bServer, type E2bServer } from '../testing/e2b-server/e2b-server.ts'
import { createE2bDriver, type E2bDriverOptions } from './e2b-driver.ts'

const labels = { run: 'r', attempt: '1', owner: 'host:1:1' }
const options: BootOptions = { labels, egress: { kind: 'none' } }

describe.skipIf(lacksBubblewrap())('the e2b driver', () => {
  let folder: string
  let server: E2bServer

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'agentrl-e2b-test-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  beforeEach(async () => {
    server = await createE2bServer({ driver: createBubblewrapDriver({ folder }), boot: { egress: { kind: 'none' } } })
  })
  afterEach(() => server[Symbol.asyncDispose]())

  function driverWith(more: Partial<E2bDriverOptions> = {}): SandboxDriver {
    return createE2bDriver({
      apiKey: server.apiKey,
      apiUrl: server.url,
      sandboxUrl: server.url,
      template: 'base',
      lookWaitMs: 200,
      ...more,
    })
  }

  function lastCreate(): Record<string, unknown> {
    return server.requests.findLast(({ method, path }) => method === 'POST' && path === '/sandboxes')?.body as Record<
      string,
      unknown
    >
  }

  test('a boot tells template, lifetime, policy and labels, and disposal deletes', async () => {
    const sandbox = await driverWith({ metadata: { team: 'a' } }).boot({ ...options, lifetimeMs: 90_000 })
    expect(lastCreate()).toMatchObject({
      templateID: 'base',
      timeout: 90,
      allow_internet_access: false,
      metadata: {
        team: 'a',
        'agentrl.owner': 'host:1:1',
        'agentrl.run': 'r',
        'agentrl.attempt': '1',
        'agentrl.sandbox': sandbox.id,
      },
    })
    await sandbox[Symbol.asyncDispose]()
    expect(server.sandboxCount).toBe(0)
  })

  test('listed hosts become the allowed destinations, and the rest is denied', async () => {
    const sandbox = await driverWith().boot({
      ...options,
      egress: { kind: 'hosts', hosts: ['pypi.org', '*.pythonhosted.org'] },
    })
    expect(lastCreate()).toMatchObject({
      network: { allowOut: ['pypi.org', '*.pythonhosted.org'], denyOut: ['0.0.0.0/0'] },
    })
    await sandbox[Symbol.asyncDispose]()
  })

  test('a gateway that enforces no policy is asked for none', async () => {
    await expect(driverWith({ egress: ['open'] }).boot(options)).rejects.toMatchObject({
      code: 'sandbox_invalid_option',
    })
  })

  test('Tencent AGS hears of image and resources in x-custom-config', async () => {
    const driver = driverWith({
      images: { kind: 'custom-config', command: ['/bin/sh'], args: ['-c', 'start-envd'] },
    })
    const resources = { cpus: 2, memoryBytes: 4 * 2 ** 30 }
    const sandbox = await driver.boot({ ...options, image: 'registry/task:1', resources })
    const { metadata, templateID } = lastCreate() as { metadata: Record<string, string>; templateID: string }
    expect(templateID).toBe('base')
    expect(JSON.parse(metadata['x-custom-config'] ?? '')).toMatchObject({
      image: 'registry/task:1',
      imageRegistryType: 'enterprise',
      command: ['/bin/sh'],
      args: ['-c', 'start-envd'],
      ports: [{ name: 'envd', port: 49983, protocol: 'TCP' }],
      resources: { cpu: '2', memory: '4096Mi' },
      probe: { httpGet: { path: '/health', port: 49983, scheme: 'HTTP' }, readyTimeoutMs: 60_000 },
    })
    await sandbox[Symbol.asyncDispose]()
  })

  test('an image is told by a metadata key or as the template, and refused where nothing tells it', async () => {
    const byKey = await driverWith({ images: { kind: 'metadata-key', key: 'x/image' } }).boot({
      ...options,
      image: 'i:1',
    })
    expect(lastCreate()).toMatchObject({ templateID: 'base', metadata: { 'x/image': 'i:1' } })
    const asTemplate = await driverWith({ images: { kind: 'template' } }).boot({ ...options, image: 'i-1' })
    expect(lastCreate()).toMatchObject({ templateID: 'i-1' })
    await expect(driverWith().boot({ ...options, image: 'i:1' })).rejects.toMatchObject({
      code: 'sandbox_invalid_option',
    })
    await Promise.all([byKey, asTemplate].map((sandbox) => sandbox[Symbol.asyncDispose]()))
  })

  test('a key as AGS gives it is taken, and a life longer than the gateway grants is refused', async () => {
    const driver = createBubblewrapDriver({ folder })
    const ags = await createE2bServer({ driver, boot: { egress: { kind: 'none' } }, apiKey: 'ark_0123abc' })
    try {
      const keyed = driverWith({ apiKey: 'ark_0123abc', apiUrl: ags.url, sandboxUrl: ags.url, maxLifetimeMs: 60_000 })
      await expect(keyed.boot({ ...options, lifetimeMs: 60_001 })).rejects.toMatchObject({
        code: 'sandbox_invalid_option',
        message: expect.stringContaining('60000'),
      })
      const sandbox = await keyed.boot(options)
      await expect(sandbox.extendLifetime(60_001)).rejects.toMatchObject({ code: 'sandbox_invalid_option' })
      await sandbox[Symbol.asyncDispose]()
    } finally {
      await ags[Symbol.asyncDispose]()
    }
  })

  test('a data plane that only the environment names is refused: tokens would go there', () => {
    process.env.E2B_SANDBOX_URL = 'http://127.0.0.1:1'
    try {
      const connection = { apiKey: 'e2b_0', template: 'base' }
      const refusal = expect.objectContaining({ code: 'sandbox_invalid_option' })
      expect(() => createE2bDriver(connection)).toThrow(refusal)
      expect(createE2bDriver({ ...connection, sandboxUrl: 'http://127.0.0.1:2' }).name).toBe('e2b')
    } finally {
      delete process.env.E2B_SANDBOX_URL
    }
  })

  test('a shell that was replaced by one that writes without end is an error, and fills no memory', async () => {
    const sandbox = await driverWith({ maxFailedCalls: 1 }).boot(options)
    const flood = '#!/bin/bash.real\nwhile :; do echo 0123456789012345678901234567890123456789; done\n'
    await sandbox.writeFile('/flood', flood, { mode: 0o755 })
    const replace =
      'rm /bin && mkdir /bin && cd /bin && ln -s /usr/bin/dash sh && ln -s /usr/bin/bash bash.real && ln -s /flood bash'
    await sandbox.exec(replace).catch(() => {})
    await expect(sandbox.exec('true', { timeoutMs: 20_000 })).rejects.toMatchObject({
      code: 'sandbox_exec_failed',
      message: expect.stringContaining('characters'),
    })
    await sandbox[Symbol.asyncDispose]()
  })

  test('an input of many parts comes whole', async () => {
    const sandbox = await driverWith().boot(options)
    const part = Buffer.from(Uint8Array.from({ length: 6_000_001 }, (_, index) => (index * 31) % 256))
    async function* parts(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 7; count += 1) yield part
    }
    await sandbox.writeFile('/tmp/large', parts())
    const whole = createHash('sha256')
      .update(Buffer.concat(Array.from({ length: 7 }, () => part)))
      .digest('hex')
    expect((await sandbox.exec('sha256sum < /tmp/large')).stdout).toBe(`${whole}  -\n`)
    await sandbox[Symbol.asyncDispose]()
  })

  test('a key of any form is passed on, and a wrong one is refused for good', async () => {
    await expect(driverWith({ apiKey: 'ark_abc' }).boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      isRetryable: false,
    })
    expect(() => driverWith({ apiKey: '' })).toThrow(expect.objectContaining({ code: 'sandbox_invalid_option' }))
  })

  test('a proxy of the environment is not used', async () => {
    const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy']
    for (const name of proxies) process.env[name] = 'http://127.0.0.1:1'
    try {
      const sandbox = await driverWith().boot(options)
      expect((await sandbox.exec('echo direct')).stdout).toBe('direct\n')
      await sandbox[Symbol.asyncDispose]()
    } finally {
      for (const name of proxies) delete process.env[name]
    }
  })

  test('a gateway that is busy or down says so in a way that a boot limit retries', async () => {
    server.inject({ kind: 'status', path: /sandboxes$/, method: 'POST', status: 429, times: 1 })
    server.inject({ kind: 'status', path: /sandboxes$/, method: 'POST', status: 502, times: 1 })
    const sandbox = await limitBoots(driverWith(), { backoffMs: 1, retries: 2 }).boot(options)
    await sandbox[Symbol.asyncDispose]()
    expect(server.sandboxCount).toBe(0)
  })

  test('a 429 that says when to come back is waited for', async () => {
    server.inject({
      kind: 'status',
      path: /sandboxes$/,
      method: 'POST',
      status: 429,
      headers: { 'retry-after': '0' },
      times: 2,
    })
    const sandbox = await driverWith().boot(options)
    await sandbox[Symbol.asyncDispose]()
  })

  test('a sandbox whose creation was answered into the void does not stay', async () => {
    server.inject({ kind: 'lost-answer', path: /sandboxes$/, method: 'POST', times: 1 })
    await expect(driverWith().boot(options)).rejects.toMatchObject({ code: 'sandbox_boot_failed', isRetryable: true })
    expect(server.sandboxCount).toBe(0)
  })

  test('a slow start is bounded by the request timeout', async () => {
    server.inject({ kind: 'delay', path: /sandboxes$/, method: 'POST', delayMs: 1_000, times: 1 })
    await expect(driverWith({ requestTimeoutMs: 300 }).boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
    })
  })

  test.each([
    { name: 'a 502', fault: { kind: 'status', status: 502 } },
    { name: 'a 503', fault: { kind: 'status', status: 503 } },
    { name: 'a stream cut before its first byte', fault: { kind: 'cut', afterBytes: 0 } },
    { name: 'a stream cut in its first message', fault: { kind: 'cut', afterBytes: 40 } },
    { name: 'a lost answer', fault: { kind: 'lost-answer' } },
  ] as const)('a command survives $name, and runs once', async ({ fault }) => {
    const sandbox = await driverWith().boot(options)
    await sandbox.exec('true')
    server.inject({ ...fault, path: /Process\/Start/, times: 2 })
    const outcome = await sandbox.exec('echo x >> ran; cat; cat ran; exit 3', { stdin: 'in ' })
    expect(outcome).toMatchObject({ kind: 'exited', exitCode: 3, stdout: 'in x\n' })
    await sandbox[Symbol.asyncDispose]()
  })

  test('a command survives a stream that is cut while it runs', async () => {
    const sandbox = await driverWith().boot(options)
    const running = sandbox.exec('echo x >> ran; sleep 1; cat ran')
    server.inject({ kind: 'cut', path: /Process\/Start/, afterBytes: 10, times: 3 })
    expect(await running).toMatchObject({ kind: 'exited', exitCode: 0, stdout: 'x\n' })
    await sandbox[Symbol.asyncDispose]()
  })

  test('a gateway that stays down is an error of the command, and its number of tries is bounded', async () => {
    const sandbox = await driverWith({ maxFailedCalls: 2 }).boot(options)
    server.inject({ kind: 'status', path: /Process\/Start/, status: 503, times: 3 })
    await expect(sandbox.exec('true')).rejects.toMatchObject({ code: 'sandbox_exec_failed', isRetryable: true })
    expect((await sandbox.exec('echo back')).stdout).toBe('back\n')
    await sandbox[Symbol.asyncDispose]()
  })

  test('a sandbox that is gone is lost, and disposing of it is fine', async () => {
    const driver = driverWith()
    const sandbox = await driver.boot(options)
    const running = sandbox.exec('sleep 60')
    const [, [record]] = await Promise.all([
      expect(running).rejects.toMatchObject({ code: 'sandbox_lost' }),
      driver.list().then(async (records) => {
        for (const record of records) await driver.remove(record)
        return records
      }),
    ])
    expect(record).toMatchObject({ id: sandbox.id, labels })
    await expect(sandbox.exec('true')).rejects.toMatchObject({ code: 'sandbox_lost' })
    await sandbox[Symbol.asyncDispose]()
  })

  test('a sandbox that can not be ended is a loud failure with its name', async () => {
    const sandbox = await driverWith().boot(options)
    server.inject({ kind: 'status', path: /sandboxes\//, method: 'DELETE', status: 500, times: 5 })
    await expect(sandbox[Symbol.asyncDispose]()).rejects.toMatchObject({ code: 'sandbox_survivors' })
  })

  test('a life is extended at the gateway', async () => {
    const driver = driverWith()
    const sandbox = await driver.boot({ ...options, lifetimeMs: 60_000 })
    const [before] = await driver.list()
    await sandbox.extendLifetime(600_000)
    const [after] = await driver.list()
    expect((after?.endsAt ?? 0) - (before?.endsAt ?? 0)).toBeGreaterThan(500_000)
    await sandbox[Symbol.asyncDispose]()
  })

  test('what finished commands wrote does not pile up', async () => {
    const sandbox = await driverWith().boot(options)
    for (let run = 0; run < 5; run += 1) await sandbox.exec('head -c 1000 /dev/zero', { stdin: 'x' })
    const { stdout } = await sandbox.exec('ls /tmp/.agentrl | grep -vc over')
    expect(Number(stdout)).toBeLessThanOrEqual(3)
    await sandbox[Symbol.asyncDispose]()
  })

  test('the server takes the paths of later SDKs as well', async () => {
    const headers = { 'x-api-key': server.apiKey, 'content-type': 'application/json' }
    const body = JSON.stringify({ templateID: 'base', timeout: 60 })
    const created = await fetch(`${server.url}/v2/sandboxes`, { method: 'POST', headers, body })
    const { sandboxID } = (await created.json()) as { sandboxID: string }
    const connected = await fetch(`${server.url}/v2/sandboxes/${sandboxID}/connect`, {
      method: 'POST',
      headers,
      body: '{}',
    })
    expect([created.status, connected.status]).toEqual([201, 200])
  })
})
