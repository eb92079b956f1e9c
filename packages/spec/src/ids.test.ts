import { expect, test } from 'vitest'
import { seededRandom } from './clock.ts'
import { taskId } from './ids.ts'
import { buckets } from './ledger.ts'

test('an id keeps its text', () => {
  expect(taskId('astropy__astropy-12907')).toBe('astropy__astropy-12907')
})

test.each(['', ' x', 'a b', '../x', 'a\nb', `a${'b'.repeat(255)}`])('%j is refused as an id', (raw) => {
  expect(() => taskId(raw)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
})

test('a seeded source repeats itself and stays in [0, 1)', () => {
  const first = seededRandom(7)
  const second = seededRandom(7)
  const values = Array.from({ length: 1000 }, () => first())
  expect(values).toEqual(Array.from({ length: 1000 }, () => second()))
  expect(Math.min(...values)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...values)).toBeLessThan(1)
})

test('sixteen buckets partition the sampled tokens', () => {
  expect(buckets).toHaveLength(16)
  expect(buckets[0]).toBe('trained')
})
