import { setTimeout as delay } from 'node:timers/promises'
import { SandboxError } from '@agentrl/spec'

/**
 * Ending a set of processes for certain: SIGTERM, a grace period, SIGKILL, a
 * scan, and a loud failure that names whoever is still there. How a signal is
 * sent and how survivors are found is the driver's: on the host, inside a
 * container, over a remote call.
 */
export interface ProcessGroup {
  /** For messages, for example `process group 4711`. */
  readonly name: string
  /** Sends a signal to every member. A group that is gone is no error. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** One line for each process that is still there; zombies don't count. */
  survivors(): Promise<readonly string[]>
}

export interface TerminateOptions {
  /** Between SIGTERM and SIGKILL. Default 2,000; 0 kills at once. */
  readonly graceMs?: number
  /** How long to wait for SIGKILL to take effect. Default 5,000. */
  readonly killWaitMs?: number
  /** How often survivors are looked for at most. The first looks come sooner. Default 100. */
  readonly pollMs?: number
  /** How long one signal or one look may take: where they are commands, these may hang. Default 30,000. */
  readonly callTimeoutMs?: number
}

/**
 * Ends a process group. Resolves when nothing of it is left; rejects with
 * `sandbox_survivors` when SIGKILL did not take effect in time, its details
 * listing the processes, and when it could not be found out whether it did.
 */
export async function terminateProcessGroup(given: ProcessGroup, options: TerminateOptions = {}): Promise<void> {
  const { graceMs = 2_000, killWaitMs = 5_000, pollMs = 100, callTimeoutMs = 30_000 } = options
  const group = limitCalls(given, callTimeoutMs)
  if ((await group.survivors()).length === 0) return
  if (graceMs > 0) {
    await group.signal('SIGTERM')
    if ((await waitUntilGone(group, graceMs, pollMs)).length === 0) return
  }
  await group.signal('SIGKILL')
  const survivors = await waitUntilGone(group, killWaitMs, pollMs, () => group.signal('SIGKILL'))
  if (survivors.length === 0) return
  throw new SandboxError(
    'sandbox_survivors',
    `${group.name} outlived SIGKILL by ${killWaitMs} ms: ${survivors.join('; ')}`,
    {
      details: { survivors },
    },
  )
}

/** The same group, whose calls fail when they take too long. */
function limitCalls(group: ProcessGroup, timeoutMs: number): ProcessGroup {
  async function within<T>(call: Promise<T>): Promise<T> {
    const settled = new AbortController()
    const late = delay(timeoutMs, undefined, { signal: settled.signal }).then(() => {
      const message = `${group.name} could not be ended: a look at it took longer than ${timeoutMs} ms`
      throw new SandboxError('sandbox_survivors', message)
    })
    try {
      return await Promise.race([call, late])
    } finally {
      settled.abort()
      for (const unheard of [call, late]) unheard.catch(() => {})
    }
  }
  return {
    name: group.name,
    signal: (signal) => within(group.signal(signal)),
    survivors: () => within(group.survivors()),
  }
}

/** The survivors when all are gone or the time is over; `again` runs before each further look. */
async function waitUntilGone(
  group: ProcessGroup,
  waitMs: number,
  maxPollMs: number,
  again?: () => Promise<void>,
): Promise<readonly string[]> {
  const endsAt = performance.now() + waitMs
  let pollMs = 2
  let survivors = await group.survivors()
  while (survivors.length > 0 && performance.now() < endsAt) {
    await delay(Math.min(pollMs, Math.max(1, endsAt - performance.now())))
    pollMs = Math.min(pollMs * 2, maxPollMs)
    await again?.()
    survivors = await group.survivors()
  }
  return survivors
}
