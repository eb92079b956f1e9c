import { ValueError } from '@agentrl/spec'
import type { Id } from './attempts.ts'

/**
 * majority@k: the chance that the plurality of k answers, drawn without
 * replacement from n attempts, is the correct one; a tie is broken evenly among
 * those that share the lead.
 *
 * The expectation over all subsets is exact and does not list them. Let the
 * correct answer have v votes; then the others have at most v, t of them
 * exactly v. The number of such draws is a coefficient of a product over the
 * wrong answers, built up one answer at a time:
 *
 *     ways[j][t] = Σ_w ways[j − w][t − [w = v]] · C(count, w),   w ≤ v
 *
 * and the vote is won by 1 / (t + 1) of them.
 */
export interface MajorityOptions {
  /** The answer of each attempt, shape [n]. */
  readonly answers: readonly Id[]
  readonly correctAnswer: Id
  /** Votes in a draw; 1 to n. */
  readonly k: number
}

/**
 * The chance, in [0, 1]. O(k³ × different answers). Throws `value_invalid`
 * unless k is an integer of 1 to n.
 *
 * @example
 * majorityAtK({ answers: ['a', 'a', 'b'], correctAnswer: 'a', k: 2 }) // → 2 / 3
 * // aa wins, and half of each of the two tied draws ab
 */
export function majorityAtK({ answers, correctAnswer, k }: MajorityOptions): number {
  const n = answers.length
  if (!Number.isInteger(k) || k < 1 || k > n) {
    throw new ValueError('value_invalid', `k is an integer of 1 to ${n} attempts, found ${k}`, { details: { n, k } })
  }
  const counts = new Map<Id, number>()
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  const correct = counts.get(correctAnswer) ?? 0
  counts.delete(correctAnswer)
  const wrong = [...counts.values()]
  let chance = 0
  for (let votes = 1; votes <= Math.min(correct, k); votes += 1) {
    const chosen = choose(correct, votes)
    waysBelow(wrong, votes, k - votes).forEach((ways, tied) => {
      chance += (chosen * ways) / (tied + 1) / choose(n, k)
    })
  }
  return Math.min(1, chance)
}

/** By how many answers are tied with the lead: the ways to draw `draws` wrong answers with at most `lead` of a kind. */
function waysBelow(wrong: readonly number[], lead: number, draws: number): number[] {
  const mostTied = Math.floor(draws / lead)
  let ways: number[][] = Array.from({ length: draws + 1 }, (_, drawn) =>
    Array.from({ length: mostTied + 1 }, (_, tied) => Number(drawn === 0 && tied === 0)),
  )
  for (const count of wrong) {
    ways = ways.map((row, drawn) =>
      row.map((_, tied) => {
        let sum = 0
        for (let votes = 0; votes <= Math.min(count, lead, drawn); votes += 1) {
          const tiedBefore = votes === lead ? tied - 1 : tied
          sum += (ways[drawn - votes]?.[tiedBefore] ?? 0) * choose(count, votes)
        }
        return sum
      }),
    )
  }
  return ways[draws] ?? []
}

function choose(n: number, k: number): number {
  let result = 1
  for (let step = 1; step <= k; step += 1) result = (result * (n - k + step)) / step
  return result
}
