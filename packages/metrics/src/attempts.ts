import { ValueError } from '@agentrl/spec'

/**
 * Attempts, from the rows of a batch.
 *
 * One attempt at a task (a rollout) may fan out into several training rows
 * (segments): after a compaction, for a sub-agent, beyond a length limit. Every
 * segment carries the reward of the whole attempt. Whatever speaks of a group
 * (pass@k, a baseline, a pass rate) counts the attempt once, whichever number
 * of segments it left:
 *
 *     row     0    1    2    3    4
 *     group   a    a    a    b    b
 *     rollout 7    7    8    7    9        a: {7, 8}   b: {7, 9}
 *
 * An attempt is the pair (group, rollout): two groups may number theirs alike.
 */

/** A group or a rollout, as the trainer names it. 1 and '1' are two ids. */
export type Id = string | number

/** The columns that say which attempt each row of a batch belongs to. All are N long. */
export interface AttemptRows {
  /**
   * The reward of the whole attempt, on each of its rows. Null: the attempt
   * could not be graded because of infrastructure.
   */
  readonly rewards: readonly (number | null)[]
  /** The prompt that the attempt belongs to. */
  readonly groupIds: readonly Id[]
  /** The attempt within its group. Default: every row is an attempt of its own. */
  readonly rolloutIds?: readonly Id[]
}

/** One attempt and the rows that it left. */
export interface Attempt {
  readonly rolloutId: Id
  readonly reward: number | null
  /** Row numbers, ascending; at least one. */
  readonly rows: readonly number[]
}

/** The attempts at one prompt. */
export interface AttemptGroup {
  readonly groupId: Id
  /** In order of first appearance; at least one. */
  readonly attempts: readonly Attempt[]
}

/** One training row as a producer knows it. */
export interface Segment {
  readonly groupId: Id
  readonly rolloutId: Id
  /** The reward of the whole attempt: what groups are compared by. */
  readonly attemptReward: number | null
  /** What this segment earned by itself, where something is known of it. Never counted as an attempt. */
  readonly segmentReward?: number | null
}

/**
 * The columns of a list of segments, ready for every function that takes
 * `AttemptRows`. `attemptReward` is what counts; `segmentReward` is left aside.
 *
 * @example
 * segmentColumns([{ groupId: 'a', rolloutId: 0, attemptReward: 1, segmentReward: 0.2 }])
 * // → { rewards: [1], groupIds: ['a'], rolloutIds: [0] }
 */
export function segmentColumns(segments: readonly Segment[]): Required<AttemptRows> {
  return {
    rewards: segments.map((segment) => segment.attemptReward),
    groupIds: segments.map((segment) => segment.groupId),
    rolloutIds: segments.map((segment) => segment.rolloutId),
  }
}

/**
 * The attempts of a batch by group, groups and attempts in order of first
 * appearance. Throws `value_invalid` when the columns differ in length, a
 * reward is not finite, or the rows of one attempt disagree about its reward.
 *
 * @example
 * collectAttempts({ rewards: [1, 1, 0], groupIds: ['a', 'a', 'a'], rolloutIds: [7, 7, 8] })
 * // → [{ groupId: 'a', attempts: [{ rolloutId: 7, reward: 1, rows: [0, 1] }, { rolloutId: 8, reward: 0, rows: [2] }] }]
 */
export function collectAttempts(columns: AttemptRows): AttemptGroup[] {
  const { rewards, groupIds, rolloutIds } = columns
  checkColumnLength('groupIds', groupIds.length, rewards.length)
  if (rolloutIds !== undefined) checkColumnLength('rolloutIds', rolloutIds.length, rewards.length)
  const groups = new Map<Id, Map<Id, { rolloutId: Id; reward: number | null; rows: number[] }>>()
  rewards.forEach((reward, row) => {
    if (reward !== null && !Number.isFinite(reward)) {
      throw new ValueError('value_invalid', `A reward is a finite number or null; row ${row} has ${reward}`, {
        details: { row, reward: String(reward) },
      })
    }
    const groupId = groupIds[row] as Id
    const rolloutId = rolloutIds === undefined ? row : (rolloutIds[row] as Id)
    const attempts = groups.get(groupId) ?? new Map()
    groups.set(groupId, attempts)
    const attempt = attempts.get(rolloutId)
    if (attempt === undefined) {
      attempts.set(rolloutId, { rolloutId, reward, rows: [row] })
      return
    }
    if (attempt.reward !== reward) {
      throw new ValueError(
        'value_invalid',
        `The rows of one attempt carry one reward; rollout ${rolloutId} of group ${groupId} has ${attempt.reward} in row ${attempt.rows[0]} and ${reward} in row ${row}`,
        { details: { groupId, rolloutId, rewards: [attempt.reward, reward], rows: [attempt.rows[0], row] } },
      )
    }
    attempt.rows.push(row)
  })
  return [...groups].map(([groupId, attempts]) => ({ groupId, attempts: [...attempts.values()] }))
}

/** Throws `value_invalid` unless a column is as long as the batch. */
export function checkColumnLength(name: string, length: number, expected: number): void {
  if (length === expected) return
  throw new ValueError('value_invalid', `${name} has ${length} entries for ${expected} rows`, {
    details: { column: name, length, expected },
  })
}
