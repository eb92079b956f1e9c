import { SandboxError } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { limitBoots } from './limit-boots.ts'
import type { Sandbox, SandboxDriver } from './sandbox.ts'
import type { BootOptions } from './sandbox-types.ts'

const options: BootOptions = { labels: { run: 'r', attempt: '1' }, egress: { kind: 'open' } }
/** As much of a sandbox as a boot limit touches. */
function sandboxThat(dispose: () => void): Sandbox {
  return { [Symbol.asyncDispose]: async () => dispose() } as unknown as Sandbox
}

const sandbox = sandboxThat(() => {})

function driverOf(boot: SandboxDriver['boot']): SandboxDriver {
  return {
    name: 'fake',
    capabilities: {
      hasOwnRoot: true,
      holdsEscapees: true,
      canSwitchUser: true,
      hasImages: false,
      hasResources: false,
      hasMounts: false,
      maxLifetimeMs: 86_400_000,
      egress: ['open'],
    },
    boot,
    list: async () => [],
    remove: async () => {},
  }
}

const failure = (isRetryable: boolean): SandboxError => new SandboxError('sandbox_boot_failed', 'no', { isRetryable })

describe('limitBoots', () => {
  test('no more boots run at once than the limit says, and all of them end', async () => {
    let running = 0
    let most = 0
    const driver = driverOf(async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      return sandbox
    })
    const limited = limitBoots(driver, { concurrency: 3 })
    const booted = await Promise.all(Array.from({ length: 20 }, () => limited.boot(options)))
    expect([most, booted.length]).toEqual([3, 20])
  })

  test('a failure that a retry may mend is tried again, with growing pauses', async () => {
    let tries = 0
    const driver = driverOf(async () => {
      tries += 1
      if (tries < 3) throw failure(true)
      return sandbox
    })
    const warnings: string[] = []
    const ignore = (): void => {}
    const logger = { debug: ignore, info: ignore, error: ignore, warn: (message: string) => warnings.push(message) }
    expect(await limitBoots(driver, { backoffMs: 1, random: () => 0, logger }).boot(options)).toBe(sandbox)
    expect([tries, warnings.length]).toEqual([3, 2])
  })

  test('after the last try the error is passed on, and the slot is free again', async () => {
    let tries = 0
    const limited = limitBoots(
      driverOf(async () => {
        tries += 1
        throw failure(true)
      }),
      { retries: 1, backoffMs: 1, concurrency: 1 },
    )
    await expect(limited.boot(options)).rejects.toMatchObject({ code: 'sandbox_boot_failed' })
    await expect(limited.boot(options)).rejects.toMatchObject({ code: 'sandbox_boot_failed' })
    expect(tries).toBe(4)
  })

  test('a failure that a retry can not mend is passed on at once', async () => {
    let tries = 0
    const driver = driverOf(async () => {
      tries += 1
      throw failure(false)
    })
    await expect(limitBoots(driver, { backoffMs: 1 }).boot(options)).rejects.toMatchObject({ message: 'no' })
    expect(tries).toBe(1)
  })

  test('a boot that takes too long is given up, and ended when it comes after all', async () => {
    let finish: (sandbox: Sandbox) => void = () => {}
    let disposed = 0
    const driver = driverOf(
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    const booting = limitBoots(driver, { timeoutMs: 5, retries: 0 }).boot(options)
    await expect(booting).rejects.toMatchObject({ code: 'sandbox_boot_failed', isRetryable: true })
    finish(
      sandboxThat(() => {
        disposed += 1
      }),
    )
    await new Promise((resolve) => setImmediate(resolve))
    expect(disposed).toBe(1)
  })

  test('a waiting boot can be aborted and loses its place', async () => {
    let finish: (sandbox: Sandbox) => void = () => {}
    const driver = driverOf(
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    const limited = limitBoots(driver, { concurrency: 1 })
    const first = limited.boot(options)
    const controller = new AbortController()
    const second = limited.boot({ ...options, signal: controller.signal })
    const third = limited.boot(options)
    controller.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    await Promise.resolve()
    finish(sandbox)
    await first
    await new Promise((resolve) => setImmediate(resolve))
    finish(sandbox)
    expect(await third).toBe(sandbox)
  })

  test('an abort during a pause ends it with the reason of the signal', async () => {
    const controller = new AbortController()
    const driver = driverOf(async () => {
      setImmediate(() => controller.abort(new Error('enough')))
      throw failure(true)
    })
    const limited = limitBoots(driver, { backoffMs: 30_000 })
    await expect(limited.boot({ ...options, signal: controller.signal })).rejects.toThrow('enough')
  })

  test('a late sandbox that can not be ended is told to the logger', async () => {
    const errors: string[] = []
    const ignore = (): void => {}
    let tell = ignore
    const told = new Promise<void>((resolve) => {
      tell = resolve
    })
    const logger = {
      debug: ignore,
      info: ignore,
      warn: ignore,
      error(message: string) {
        errors.push(message)
        tell()
      },
    }
    const controller = new AbortController()
    let boot: (sandbox: Sandbox) => void = () => {}
    const driver = driverOf(() => new Promise((resolve) => (boot = resolve)))
    const booting = limitBoots(driver, { logger }).boot({ ...options, signal: controller.signal })
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error('enough'))
    await expect(booting).rejects.toThrow('enough')
    boot(
      sandboxThat(() => {
        throw new Error('still there')
      }),
    )
    await told
    expect(errors).toEqual(['a sandbox that came too late did not end'])
  })
})
