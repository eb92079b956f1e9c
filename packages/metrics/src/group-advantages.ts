import { ValueError } from '@agentrl/spec'
import { type AttemptRows, collectAttempts, type Id } from './attempts.ts'
import { type LossWeighting, lossWeights } from './loss-weights.ts'

/**
 * Advantages of a group of attempts at one prompt, against the group's own
 * baseline. With rewards r over the n graded attempts of a group and m their
 * mean:
 *
 *     grpo       (r − m) / (s + ε)   s the standard deviation with n − ddof below
 *     grpo-mean  r − m               GRPO without the division
 *     dr-grpo    r − m               the same; its constant length normaliser is a loss weighting
 *     rloo       r − mean of the others  =  (r − m) · n / (n − 1)
 *
 * The baseline is over distinct attempts, and each attempt's advantage is
 * broadcast to its segments: fan-out neither weighs an attempt twice nor turns
 * the group into the whole batch, as slime's reshape does when the number of
 * rows is not prompts × attempts.
 *
 * Sources: GRPO, Shao et al. 2024 (arXiv 2402.03300), equation 3 and section
 * 4.1.2; Dr.GRPO, Liu et al. 2025 (arXiv 2503.20783), section 3.2; RLOO,
 * Ahmadian et al. 2024 (arXiv 2402.14740), equation 7. ddof 1 and ε 10⁻⁶ as in
 * slime's reward post-processing, which is float32; this is float64.
 */

export type AdvantageEstimator = 'grpo' | 'grpo-mean' | 'dr-grpo' | 'rloo'

export interface GroupAdvantageOptions {
  /** Default `grpo`. */
  readonly estimator?: AdvantageEstimator
  /** Added to the standard deviation; at least 0. Default 1e-6. Used by `grpo`. */
  readonly epsilon?: number
  /** Degrees of freedom taken from n below the variance: 0 or 1. Default 1. Used by `grpo`. */
  readonly ddof?: 0 | 1
  /** Asks for `tokenWeights` too. Default: none. */
  readonly lossWeighting?: LossWeighting
}

/** What a group was compared with. */
export interface GroupBaseline {
  readonly groupId: Id
  readonly gradedAttempts: number
  readonly mean: number
  /** Standard deviation with the ddof asked for; exactly 0 when all rewards are equal. */
  readonly std: number
}

/** A group that gives no advantage, and why. */
export interface DroppedGroup {
  readonly groupId: Id
  readonly reason: 'fewer-than-two-graded'
  readonly gradedAttempts: number
}

/** Advantages for each of the N rows of a batch. */
export interface GroupAdvantages {
  /** Shape [N]. 0 for ungraded attempts, dropped groups and groups of equal rewards; never NaN. */
  readonly advantages: readonly number[]
  /** Shape [N]. False where the advantage says nothing: an ungraded attempt or a dropped group. */
  readonly isValid: readonly boolean[]
  /** Shape [N], for each trained token of the row; null unless `lossWeighting` was asked for. */
  readonly tokenWeights: readonly number[] | null
  readonly groups: readonly GroupBaseline[]
  readonly droppedGroups: readonly DroppedGroup[]
}

/**
 * The advantage of every row. Null rewards leave the baseline and get 0; a
 * group with fewer than two graded attempts is dropped by name and gets 0.
 * Throws `value_invalid` for columns of different lengths, conflicting rewards
 * inside an attempt, or a negative epsilon.
 *
 * @example
 * groupAdvantages({ rewards: [1, 1, 0], groupIds: ['a', 'a', 'a'], rolloutIds: [0, 0, 1], estimator: 'rloo' }).advantages
 * // → [1, 1, -1]
 * // two attempts, the first of them in two segments
 */
export function groupAdvantages(options: AttemptRows & GroupAdvantageOptions): GroupAdvantages {
  const { rewards, epsilon = 1e-6, ddof = 1, estimator = 'grpo', lossWeighting } = options
  if (!(epsilon >= 0)) throw new ValueError('value_invalid', `epsilon is at least 0, found ${epsilon}`)
  const advantages = rewards.map(() => 0)
  const isValid = rewards.map(() => false)
  const groups: GroupBaseline[] = []
  const droppedGroups: DroppedGroup[] = []
  for (const { groupId, attempts } of collectAttempts(options)) {
    const graded = attempts.flatMap(({ reward, rows }) => (reward === null ? [] : [{ reward, rows }]))
    if (graded.length < 2) {
      droppedGroups.push({ groupId, reason: 'fewer-than-two-graded', gradedAttempts: graded.length })
      continue
    }
    const { mean, std } = momentsOf(
      graded.map(({ reward }) => reward),
      ddof,
    )
    groups.push({ groupId, gradedAttempts: graded.length, mean, std })
    for (const { reward, rows } of graded) {
      const advantage = std === 0 ? 0 : scaled(reward - mean, { estimator, std, epsilon, count: graded.length })
      for (const row of rows) {
        advantages[row] = advantage
        isValid[row] = true
      }
    }
  }
  const tokenWeights = lossWeighting === undefined ? null : lossWeights({ ...options, ...lossWeighting })
  return { advantages, isValid, tokenWeights, groups, droppedGroups }
}

function scaled(
  centred: number,
  terms: { estimator: AdvantageEstimator; std: number; epsilon: number; count: number },
): number {
  if (terms.estimator === 'grpo') return centred / (terms.std + terms.epsilon)
  if (terms.estimator === 'rloo') return (centred * terms.count) / (terms.count - 1)
  return centred
}

/** Mean and standard deviation; equal rewards give exactly 0, whatever their mean rounds to. */
function momentsOf(rewards: readonly number[], ddof: 0 | 1): { mean: number; std: number } {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
  if (rewards.every((reward) => reward === rewards[0])) return { mean, std: 0 }
  const squares = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0)
  return { mean, std: Math.sqrt(squares / (rewards.length - ddof)) }
}
