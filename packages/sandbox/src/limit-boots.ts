import { setTimeout as delay } from 'node:timers/promises'
import { isAgentRlError, type Logger, type Random, SandboxError, silentLogger } from '@agentrl/spec'
import type { Sandbox, SandboxDriver } from './sandbox.ts'
import type { BootOptions } from './sandbox-types.ts'

export interface BootLimits {
  /** How many boots run at once; further ones wait. Default 16. */
  readonly concurrency?: number
  /** Bound of one try, from when it starts. Default 120,000. */
  readonly timeoutMs?: number
  /** Further tries after a failure that a retry may mend, a timeout included. Default 2. */
  readonly retries?: number
  /** Before try n + 1 there is a pause of 50 to 100 % of `backoffMs` × 2ⁿ⁻¹, at most 30,000. Default 500. */
  readonly backoffMs?: number
  /** For the length of pauses. Default `Math.random`. */
  readonly random?: Random
  /** Hears of every retry. */
  readonly logger?: Logger
}

/** The same driver with a bound for boots: so many at once, so long, so often. */
export function limitBoots(driver: SandboxDriver, limits: BootLimits = {}): SandboxDriver {
  const {
    concurrency = 16,
    timeoutMs = 120_000,
    retries = 2,
    backoffMs = 500,
    random = Math.random,
    logger = silentLogger,
  } = limits
  const slots = createSlots(concurrency)

  async function boot(options: BootOptions): Promise<Sandbox> {
    for (let tries = 1; ; tries += 1) {
      await slots.take(options.signal)
      try {
        return await bootOnce(driver, options, { timeoutMs, logger })
      } catch (error) {
        options.signal?.throwIfAborted()
        if (!isAgentRlError(error) || !error.isRetryable || tries > retries) throw error
        logger.warn('a boot failed and is tried again', {
          driver: driver.name,
          tries,
          error: error.message,
          ...options.labels,
        })
      } finally {
        slots.give()
      }
      const pauseMs = Math.min(backoffMs * 2 ** (tries - 1), 30_000) * (0.5 + random() / 2)
      await delay(pauseMs, undefined, options.signal === undefined ? {} : { signal: options.signal }).catch(() => {
        throw options.signal?.reason
      })
    }
  }

  return {
    name: driver.name,
    capabilities: driver.capabilities,
    boot,
    list: () => driver.list(),
    remove: (record) => driver.remove(record),
  }
}

/** One try. A driver that goes on after its time is over finds its sandbox ended as soon as it is there. */
async function bootOnce(
  driver: SandboxDriver,
  options: BootOptions,
  { timeoutMs, logger }: { readonly timeoutMs: number; readonly logger: Logger },
): Promise<Sandbox> {
  const controller = new AbortController()
  const signal = options.signal === undefined ? controller.signal : AbortSignal.any([options.signal, controller.signal])
  const booting = driver.boot({ ...options, signal })
  const late = new SandboxError(
    'sandbox_boot_failed',
    `The ${driver.name} driver did not boot within ${timeoutMs} ms`,
    {
      isRetryable: true,
    },
  )
  const timer = setTimeout(() => controller.abort(late), timeoutMs)
  const given = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  given.catch(() => {})
  try {
    return await Promise.race([booting, given])
  } catch (error) {
    endLate(booting, logger)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Ends a sandbox that comes after it was given up; its failure is told to the logger, since nobody waits. */
function endLate(booting: Promise<Sandbox>, logger: Logger): void {
  booting
    .then(
      (sandbox) => sandbox[Symbol.asyncDispose](),
      () => {},
    )
    .catch((error: unknown) => logger.error('a sandbox that came too late did not end', { error: String(error) }))
}

interface Slots {
  /** Resolves when a slot is free; rejects with the signal's reason. */
  take(signal?: AbortSignal): Promise<void>
  give(): void
}

function createSlots(count: number): Slots {
  const waiting: (() => void)[] = []
  let free = count
  return {
    async take(signal) {
      signal?.throwIfAborted()
      if (free > 0) {
        free -= 1
        return
      }
      await new Promise<void>((resolve, reject) => {
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(onTurn), 1)
          reject(signal?.reason)
        }
        const onTurn = (): void => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }
        waiting.push(onTurn)
        signal?.addEventListener('abort', onAbort, { once: true })
      })
    },
    give() {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    },
  }
}
