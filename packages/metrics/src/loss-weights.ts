import { ValueError } from '@agentrl/spec'
import { type AttemptRows, checkColumnLength, type Id } from './attempts.ts'

/**
 * How much one trained token of a row weighs in the loss of a step:
 *
 *     loss = Σ_rows w_row · Σ_tokens mask · x
 *
 * With m_i the mask sum of row i, M_r the sum over the rows of rollout r, R
 * rollouts and N rows in the step:
 *
 *     per-rollout  1 / (R · max(M_r, 1))    slime's default: one token-weighted mean for each rollout
 *     per-segment  1 / (N · max(m_i, 1))    one mean for each row: an attempt counts as often as it was cut
 *     per-token    1 / Σ_i max(m_i, 1)      slime's per-token loss, with its floor of one for each row
 *     constant     1 / (R · tokenBudget)    Dr.GRPO: no length in the denominator
 *
 * The parallel factors of a trainer (micro-batches, data and context ranks)
 * cancel against its own averaging and are no part of this. Source: the
 * reducers of slime at 624b824a, whose recorded outputs the tests compare with.
 */
export type LossWeighting =
  | {
      readonly weighting: 'per-rollout' | 'per-segment' | 'per-token'
      /** Mask sum of each row, shape [N]; 0 for a removed sample, which still counts as a rollout. */
      readonly trainedTokens: readonly number[]
    }
  | {
      readonly weighting: 'constant'
      readonly trainedTokens: readonly number[]
      /** Tokens that every rollout is divided by, usually the longest response allowed; above 0. */
      readonly tokenBudget: number
    }

/**
 * The weight of one trained token of each row, shape [N]. Throws
 * `value_invalid` for columns of different lengths, a negative or broken mask
 * sum, or a token budget that is not above 0.
 *
 * @example
 * lossWeights({ groupIds: [0, 0, 0], rolloutIds: [7, 7, 8], trainedTokens: [3, 1, 2], weighting: 'per-rollout' })
 * // → [1 / 8, 1 / 8, 1 / 4]
 * // two rollouts of four and two tokens
 */
export function lossWeights(options: Omit<AttemptRows, 'rewards'> & LossWeighting): number[] {
  const { groupIds, rolloutIds, trainedTokens } = options
  checkColumnLength('groupIds', groupIds.length, trainedTokens.length)
  if (rolloutIds !== undefined) checkColumnLength('rolloutIds', rolloutIds.length, trainedTokens.length)
  trainedTokens.forEach((count, row) => {
    if (Number.isSafeInteger(count) && count >= 0) return
    throw new ValueError('value_invalid', `A mask sum is an integer of at least 0; row ${row} has ${count}`, {
      details: { row, count },
    })
  })
  const rolloutOfRow = numberRollouts(groupIds, rolloutIds)
  const tokensOfRollout: number[] = []
  rolloutOfRow.forEach((rollout, row) => {
    tokensOfRollout[rollout] = (tokensOfRollout[rollout] ?? 0) + (trainedTokens[row] ?? 0)
  })
  const rolloutCount = tokensOfRollout.length
  switch (options.weighting) {
    case 'per-rollout':
      return rolloutOfRow.map((rollout) => 1 / (rolloutCount * Math.max(tokensOfRollout[rollout] ?? 0, 1)))
    case 'per-segment':
      return trainedTokens.map((count) => 1 / (trainedTokens.length * Math.max(count, 1)))
    case 'per-token': {
      const total = trainedTokens.reduce((sum, count) => sum + Math.max(count, 1), 0)
      return trainedTokens.map(() => 1 / total)
    }
    case 'constant': {
      const { tokenBudget } = options
      if (!(tokenBudget > 0)) {
        throw new ValueError('value_invalid', `A token budget is above 0, found ${tokenBudget}`)
      }
      return trainedTokens.map(() => 1 / (rolloutCount * tokenBudget))
    }
  }
}

/** A number for each row: rows of one (group, rollout) share it. */
function numberRollouts(groupIds: readonly Id[], rolloutIds: readonly Id[] | undefined): number[] {
  if (rolloutIds === undefined) return groupIds.map((_, row) => row)
  const numbers = new Map<Id, Map<Id, number>>()
  let next = 0
  return groupIds.map((groupId, row) => {
    const rollouts = numbers.get(groupId) ?? new Map<Id, number>()
    numbers.set(groupId, rollouts)
    const rolloutId = rolloutIds[row] as Id
    const known = rollouts.get(rolloutId)
    if (known !== undefined) return known
    rollouts.set(rolloutId, next)
    next += 1
    return next - 1
  })
}
