import fc from 'fast-check'
import { expect, test } from 'vitest'
import { majorityAtK } from './majority-at-k.ts'

/** All ways to choose `k` of `items`. */
function subsets<Item>(items: readonly Item[], k: number): Item[][] {
  if (k === 0) return [[]]
  return items.flatMap((item, index) => subsets(items.slice(index + 1), k - 1).map((rest) => [item, ...rest]))
}

/** The share of a vote that the correct answer wins: 1, 1 / (answers that share the lead), or 0. */
function won(votes: readonly string[], correct: string): number {
  const counts = new Map<string, number>()
  for (const vote of votes) counts.set(vote, (counts.get(vote) ?? 0) + 1)
  const most = Math.max(...counts.values())
  const leaders = [...counts].filter(([, count]) => count === most).map(([answer]) => answer)
  return leaders.includes(correct) ? 1 / leaders.length : 0
}

test('the expectation equals the count over all subsets', () => {
  const answers = fc.array(fc.constantFrom('right', 'a', 'b', 'c'), { minLength: 1, maxLength: 9 })
  const cases = answers.chain((list) => fc.tuple(fc.constant(list), fc.integer({ min: 1, max: list.length })))
  fc.assert(
    fc.property(cases, ([list, k]) => {
      const draws = subsets(list, k)
      const expected = draws.reduce((sum, votes) => sum + won(votes, 'right'), 0) / draws.length
      expect(majorityAtK({ answers: list, correctAnswer: 'right', k })).toBeCloseTo(expected, 12)
    }),
  )
})

test('one vote is the share of correct answers, all votes are the plurality', () => {
  const answers = [1, 1, 2, 3, 3, 3]
  expect(majorityAtK({ answers, correctAnswer: 3, k: 1 })).toBeCloseTo(0.5, 14)
  expect(majorityAtK({ answers, correctAnswer: 3, k: 6 })).toBe(1)
  expect(majorityAtK({ answers, correctAnswer: 1, k: 6 })).toBe(0)
  expect(majorityAtK({ answers, correctAnswer: 4, k: 3 })).toBe(0)
})

test('64 attempts keep their digits', () => {
  const answers = Array.from({ length: 64 }, (_, attempt) => (attempt < 24 ? 'right' : `wrong-${attempt % 3}`))
  const chances = [1, 5, 17, 33, 64].map((k) => majorityAtK({ answers, correctAnswer: 'right', k }))
  expect(chances[0]).toBeCloseTo(24 / 64, 14)
  expect(chances).toEqual([...chances].sort((left, right) => left - right))
  expect(chances.at(-1)).toBe(1)
})

test.each([0, 4, 1.5])('%d votes of three attempts are refused', (k) => {
  expect(() => majorityAtK({ answers: ['a', 'b', 'c'], correctAnswer: 'a', k })).toThrow(
    expect.objectContaining({ code: 'value_invalid' }),
  )
})
