import { ConfigError } from '@agentrl/spec'

/** The four times that bound an attempt, from the inside out. */
export interface Lifetimes {
  /** How long the agent may work. */
  readonly agentBudgetMs: number
  /** When the attempt as a whole, grading included, is given up. */
  readonly attemptGuardMs: number
  /** When the sandbox ends by itself. */
  readonly sandboxLifetimeMs: number
  /** The longest life that the gateway or provider grants. Undefined: there is none. */
  readonly gatewayLimitMs?: number
}

/**
 * Checks, before anything runs, that each time ends within the next one: agent
 * budget < attempt guard < sandbox lifetime < gateway limit. Otherwise a
 * sandbox would vanish below an agent that still has time, and infrastructure
 * would look like a failure of the policy. Throws `config_invalid` with the numbers.
 */
export function checkLifetimes(lifetimes: Lifetimes): void {
  const { agentBudgetMs, attemptGuardMs, sandboxLifetimeMs, gatewayLimitMs } = lifetimes
  const order = [
    { name: 'agent budget', ms: agentBudgetMs },
    { name: 'attempt guard', ms: attemptGuardMs },
    { name: 'sandbox lifetime', ms: sandboxLifetimeMs },
    ...(gatewayLimitMs === undefined ? [] : [{ name: 'gateway limit', ms: gatewayLimitMs }]),
  ]
  const isInOrder = order.every(({ ms }, index) => ms > (order[index - 1]?.ms ?? 0) && Number.isFinite(ms))
  if (isInOrder) return
  const wanted = order.map(({ name }) => name).join(' < ')
  const found = order.map(({ name, ms }) => `${name} ${ms} ms`).join(', ')
  throw new ConfigError('config_invalid', `Expected 0 < ${wanted}; found ${found}`, { details: { ...lifetimes } })
}
