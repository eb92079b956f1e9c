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
