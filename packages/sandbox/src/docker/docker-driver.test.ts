import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { BootOptions } from '../sandbox-types.ts'
import { createDockerDriver } from './docker-driver.ts'

const options: BootOptions = { labels: { run: 'r', attempt: '1' }, egress: { kind: 'none' } }

describe('without a daemon', () => {
  test('a boot says that the daemon can not be reached, and may be tried again', async () => {
    const driver = createDockerDriver({ host: 'unix:///no/such.sock', image: 'x' })
    await expect(driver.boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringContaining('/no/such.sock'),
      isRetryable: true,
    })
  })

  test('a daemon that only the environment names is not talked to', async () => {
    const server = createServer((_, response) => response.end('{}'))
    let asked = 0
    server.on('connection', () => {
      asked += 1
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    process.env.DOCKER_HOST = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const driver = createDockerDriver({ host: 'unix:///no/such.sock', image: 'x' })
      await expect(driver.boot(options)).rejects.toMatchObject({ message: expect.stringContaining('/no/such.sock') })
      expect(asked).toBe(0)
    } finally {
      delete process.env.DOCKER_HOST
      server.close()
    }
  })

  test('a daemon over ssh needs the fingerprint of its key', () => {
    const refusal = expect.objectContaining({ code: 'sandbox_invalid_option' })
    expect(() => createDockerDriver({ host: 'ssh://root@127.0.0.1' })).toThrow(refusal)
    expect(() => createDockerDriver({ host: 'ssh://root@127.0.0.1', sshHostKey: 'MD5:aa' })).toThrow(refusal)
  })

  test('a boot without an image is refused', async () => {
    await expect(createDockerDriver().boot(options)).rejects.toMatchObject({ code: 'sandbox_invalid_option' })
  })

  test.each(['', 'docker', 'http://x', '/var/run/docker.sock'])('%j is refused as a host', (host) => {
    expect(() => createDockerDriver({ host })).toThrow(expect.objectContaining({ code: 'sandbox_invalid_option' }))
  })

  test('a daemon elsewhere is not asked to bind what is here', async () => {
    const driver = createDockerDriver({ host: 'tcp://127.0.0.1:1', image: 'x' })
    const adapter = { socketPath: '/run/x.sock', port: 80 }
    await expect(driver.boot({ ...options, egress: { kind: 'adapter', adapter } })).rejects.toMatchObject({
      code: 'sandbox_invalid_option',
    })
  })
})
