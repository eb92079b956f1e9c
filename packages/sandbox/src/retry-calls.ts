import { setTimeout as delay } from 'node:timers/promises'
import { isAgentRlError } from '@agentrl/spec'

/**
 * Makes a call again while its error says that a retry may help, at most
 * `maxFailures` times, with pauses that grow from 50 ms to 5 s and are cut
 * short by up to a half at random.
 */
export async function retryCalls<T>(maxFailures: number, call: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await call()
    } catch (error) {
      if (!isAgentRlError(error) || !error.isRetryable || failures >= maxFailures) throw error
      await delay(Math.min(50 * 2 ** failures, 5_000) * (0.5 + Math.random() / 2))
    }
  }
}
