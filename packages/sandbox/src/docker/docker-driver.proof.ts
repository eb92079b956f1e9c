import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forward, makeCertificate, startSshDaemon } from '../__fixtures__/remote-daemon.ts'
import type { BootOptions } from '../sandbox-types.ts'
import { buildDockerImage } from './build-docker-image.ts'
import { createDockerDriver } from './docker-driver.ts'

// Run by `pnpm proof:docker`, which starts the daemon.
const options: BootOptions = { labels: { run: 'r', attempt: '1' }, egress: { kind: 'none' } }
const host = process.env.AGENTRL_DOCKER_HOST ?? ''
const image = process.env.AGENTRL_DOCKER_IMAGE ?? 'agentrl-busybox:1'

describe('the docker driver with a daemon', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'agentrl-docker-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('an image that does not exist is named', async () => {
    await expect(createDockerDriver({ host, image: 'no/such:image' }).boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringContaining('no/such:image'),
      isRetryable: false,
    })
  })

  test('an image that can not be fetched is named', async () => {
    const driver = createDockerDriver({ host, image: '127.0.0.1:1/no/such:image', pull: 'missing' })
    await expect(driver.boot(options)).rejects.toMatchObject({ code: 'sandbox_boot_failed' })
  })

  test('an image is built from a Dockerfile, and a user of it runs commands', async () => {
    const dockerfile = `FROM ${image}\nARG NAME\nRUN echo "built for $NAME" > /built && echo worker:x:1234:1234::/home/worker:/bin/sh >> /etc/passwd\nENV FROM_IMAGE=yes PATH=/bin:/of-the-image\nWORKDIR /srv\n`
    writeFileSync(join(folder, 'Dockerfile'), dockerfile)
    const log: string[] = []
    await buildDockerImage({
      host,
      contextFolder: folder,
      tag: 'agentrl-test-built:1',
      buildArgs: { NAME: 'us' },
      network: 'none',
      onLog: (text) => log.push(text),
    })
    const sandbox = await createDockerDriver({ host }).boot({ ...options, image: 'agentrl-test-built:1' })
    try {
      const outcome = await sandbox.exec('cat /built; id -u; echo $FROM_IMAGE $PATH $HOME', { user: 'worker' })
      expect(outcome.stdout).toBe('built for us\n1234\nyes /bin:/of-the-image /home/worker\n')
      expect(log.join('')).toContain('Successfully built')
    } finally {
      await sandbox[Symbol.asyncDispose]()
    }
  })

  test('a build that fails shows the end of its log', async () => {
    writeFileSync(join(folder, 'Dockerfile'), `FROM ${image}\nRUN echo the reason; exit 3\n`)
    const building = buildDockerImage({ host, contextFolder: folder, tag: 'agentrl-test-failed:1', network: 'none' })
    await expect(building).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringContaining('the reason'),
    })
  })

  test('limits of memory and processes hold, and nobody gains privileges', async () => {
    const resources = { cpus: 0.5, memoryBytes: 64 * 1024 * 1024, maxProcesses: 64 }
    const sandbox = await createDockerDriver({ host, image }).boot({ ...options, resources })
    try {
      const privileges = await sandbox.exec('grep NoNewPrivs /proc/self/status')
      const memory = await sandbox.exec('head -c 200000000 /dev/zero | tail -c 150000000 | wc -c')
      // The last one: until these are over, there is no room for another command.
      const forks = await sandbox.exec('i=0; while [ $i -lt 80 ]; do sleep 5 & i=$((i + 1)); done; wait')
      expect(memory.stdout.trim()).not.toBe('150000000')
      expect(forks.stderr).toContain('fork')
      expect(privileges.stdout.trim().at(-1)).toBe('1')
    } finally {
      await sandbox[Symbol.asyncDispose]()
    }
  })

  test('a container that was removed behind our back is a lost sandbox', async () => {
    const driver = createDockerDriver({ host, image })
    const sandbox = await driver.boot(options)
    const [record] = (await driver.list()).filter(({ id }) => id === sandbox.id)
    if (record !== undefined) await driver.remove(record)
    await expect(sandbox.exec('true')).rejects.toMatchObject({ code: 'sandbox_lost' })
    await sandbox[Symbol.asyncDispose]()
  })

  test('a daemon is reached over tcp as well', async () => {
    const forwarder = createServer({ allowHalfOpen: true }, (client) => forward(client, host))
    await new Promise<void>((resolve) => forwarder.listen(0, '127.0.0.1', resolve))
    const { port } = forwarder.address() as AddressInfo
    const sandbox = await createDockerDriver({ host: `tcp://127.0.0.1:${port}`, image }).boot(options)
    try {
      expect((await sandbox.exec('cat; echo out', { stdin: 'in ' })).stdout).toBe('in out\n')
    } finally {
      await sandbox[Symbol.asyncDispose]()
      forwarder.close()
    }
  })

  test('the policy "open" gives the network that the driver was told of, and names one that does not exist', async () => {
    const server = createHttpServer((_, response) => response.end('of the host'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const open: BootOptions = { ...options, egress: { kind: 'open' } }
    const sandbox = await createDockerDriver({ host, image, network: 'host' }).boot(open)
    try {
      expect((await sandbox.exec(`wget -qO- http://${address}/`)).stdout).toBe('of the host')
    } finally {
      await sandbox[Symbol.asyncDispose]()
      server.close()
    }
    await expect(createDockerDriver({ host, image, network: 'no-such-net' }).boot(open)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringMatching(/^The Docker daemon answered 404: .*no-such-net/),
    })
  })

  test('a shell that was replaced by one that hangs or floods keeps nobody waiting, and the sandbox ends', async () => {
    for (const program of ['while :; do :; done', 'while :; do echo flood; done']) {
      const sandbox = await createDockerDriver({ host, image }).boot(options)
      await sandbox.writeFile('/bin/own-shell', `#!/bin/sh-real\n${program}\n`, { mode: 0o755 })
      const running = sandbox.exec('ln -s busybox /bin/sh-real; ln -sf own-shell /bin/sh; /bin/busybox sleep 600', {
        timeoutMs: 500,
        graceMs: 0,
      })
      await expect(running).rejects.toMatchObject({ code: expect.stringMatching(/^sandbox_(survivors|exec_failed)$/) })
      await expect(sandbox.readFile('/x', { signal: AbortSignal.timeout(500) })).rejects.toMatchObject({})
      await sandbox[Symbol.asyncDispose]()
      const listed = await createDockerDriver({ host, image }).list()
      expect(listed.filter(({ id }) => id === sandbox.id)).toEqual([])
    }
  }, 120_000)

  test('a daemon is reached over tcp with TLS, and not with the certificate of another', async () => {
    const [ours, other] = [makeCertificate(join(folder, 'ours')), makeCertificate(join(folder, 'other'))]
    const forwarder = createTlsServer(
      { ...ours, requestCert: true, rejectUnauthorized: true, allowHalfOpen: true },
      (client) => forward(client, host),
    )
    await new Promise<void>((resolve) => forwarder.listen(0, '127.0.0.1', resolve))
    const address = `tcp://127.0.0.1:${(forwarder.address() as AddressInfo).port}`
    try {
      const sandbox = await createDockerDriver({ host: address, image, tls: ours }).boot(options)
      expect((await sandbox.exec('cat; echo out', { stdin: 'in ' })).stdout).toBe('in out\n')
      await sandbox[Symbol.asyncDispose]()
      const stranger = createDockerDriver({ host: address, image, tls: other })
      await expect(stranger.boot(options)).rejects.toMatchObject({ code: 'sandbox_boot_failed' })
    } finally {
      forwarder.close()
    }
  })

  test('a daemon is reached over ssh, and not when its key is another', async () => {
    const daemon = await startSshDaemon(join(folder, 'ssh'), host)
    try {
      const driver = createDockerDriver({ ...daemon.connection, image })
      const sandbox = await driver.boot(options)
      expect((await sandbox.exec('cat; echo out', { stdin: 'in ' })).stdout).toBe('in out\n')
      await sandbox.writeFile('/data', 'x'.repeat(1_000_000))
      expect((await sandbox.readFile('/data')).length).toBe(1_000_000)
      await sandbox[Symbol.asyncDispose]()
      const wrongKey = { ...daemon.connection, sshHostKey: `SHA256:${'A'.repeat(43)}` }
      await expect(createDockerDriver({ ...wrongKey, image }).boot(options)).rejects.toMatchObject({
        code: 'sandbox_boot_failed',
      })
    } finally {
      await daemon[Symbol.asyncDispose]()
    }
  })
})
