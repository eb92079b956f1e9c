import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkLifetimes } from './check-lifetimes.ts'

const fine = {
  agentBudgetMs: 1_800_000,
  attemptGuardMs: 2_580_000,
  sandboxLifetimeMs: 3_600_000,
  gatewayLimitMs: 86_400_000,
}

test('times that end within each other pass', () => {
  expect(() => checkLifetimes(fine)).not.toThrow()
  expect(() => checkLifetimes({ agentBudgetMs: 1, attemptGuardMs: 2, sandboxLifetimeMs: 3 })).not.toThrow()
})

test.each([
  { ...fine, agentBudgetMs: 2_580_000 },
  { ...fine, attemptGuardMs: 3_600_000 },
  { ...fine, sandboxLifetimeMs: 86_400_001 },
  { ...fine, agentBudgetMs: 0 },
  { ...fine, agentBudgetMs: Number.NaN },
  { ...fine, gatewayLimitMs: Number.POSITIVE_INFINITY },
])('%j is refused with its numbers', (lifetimes) => {
  const numbers = new RegExp(
    Object.values(lifetimes)
      .map((ms) => `${ms} ms`)
      .join('.*'),
  )
  expect(() => checkLifetimes(lifetimes)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(numbers) }),
  )
})

test('only a strictly growing row passes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 4, maxLength: 4 }),
      ([a = 0, b = 0, c = 0, d = 0]) => {
        const check = (): void =>
          checkLifetimes({ agentBudgetMs: a, attemptGuardMs: b, sandboxLifetimeMs: c, gatewayLimitMs: d })
        if (a < b && b < c && c < d) expect(check).not.toThrow()
        else expect(check).toThrow()
      },
    ),
  )
})
