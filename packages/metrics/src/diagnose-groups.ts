import { ValueError } from '@agentrl/spec'
import {
  type Attempt,
  type AttemptGroup,
  type AttemptRows,
  checkColumnLength,
  collectAttempts,
  type Id,
} from './attempts.ts'
import type { Problem } from './problem.ts'

/**
 * What a batch of groups can teach. A group whose rewards are all equal has
 * advantage 0 everywhere and teaches nothing; a configuration that only makes
 * such groups is refused before money is spent.
 */

/** The settings that decide whether a group can hold two different attempts. */
export interface SamplingSettings {
  /** Attempts at each prompt. */
  readonly groupSize: number
  /** Sampling temperature. */
  readonly temperature: number
}

/**
 * What is wrong with a configuration before anything runs: `single_attempt`
 * (one attempt is its own baseline) and `greedy_sampling` (equal attempts have
 * equal rewards) give a gradient of exactly zero. Empty when nothing is.
 * Throws `value_invalid` for a group size below 1 or a negative temperature.
 *
 * @example
 * diagnoseConfiguration({ groupSize: 1, temperature: 1 }).map(({ code }) => code) // → ['single_attempt']
 */
export function diagnoseConfiguration(settings: SamplingSettings): Problem[] {
  const { groupSize, temperature } = settings
  if (!Number.isInteger(groupSize) || groupSize < 1) {
    throw new ValueError('value_invalid', `A group size is an integer of at least 1, found ${groupSize}`)
  }
  if (!(temperature >= 0)) {
    throw new ValueError('value_invalid', `A temperature is at least 0, found ${temperature}`)
  }
  const problems: Problem[] = []
  if (groupSize === 1) {
    problems.push({
      code: 'single_attempt',
      severity: 'error',
      message: 'With one attempt for each prompt every advantage is 0, and so is the gradient; ask for 2 or more',
      details: { groupSize },
    })
  }
  if (temperature === 0) {
    problems.push({
      code: 'greedy_sampling',
      severity: 'error',
      message: 'At temperature 0 the attempts of a group are equal, and so the gradient is 0; sample at 1.0',
      details: { temperature },
    })
  }
  return problems
}

export interface DiagnoseGroupsOptions {
  /** Attempts asked for at each prompt; at least 1. */
  readonly groupSize: number
  /** Sampling temperature; at least 0. Default 1. */
  readonly temperature?: number
  /** What counts as solved. Default: a reward of exactly 1. */
  readonly isPass?: (reward: number) => boolean
  /** Whether the attempt left an empty patch, on each of its rows; shape [N]. Default: not known. */
  readonly isEmptyPatch?: readonly boolean[]
}

/** Why a group does or does not teach. */
export type GroupOutcome = 'mixed' | 'all-pass' | 'all-fail' | 'too-few-graded'

export interface GroupDiagnosis {
  /** One for each group, in order of first appearance. */
  readonly outcomes: readonly { readonly groupId: Id; readonly outcome: GroupOutcome }[]
  /** Groups by outcome. `mixed` have rewards that differ; the others have advantage 0 throughout. */
  readonly counts: Readonly<Record<GroupOutcome, number>>
  /** Attempts with an advantage that may differ from 0, and all attempts. */
  readonly effectiveBatch: { readonly attempts: number; readonly ofAttempts: number; readonly fraction: number }
  /** Groups with fewer graded attempts than asked for. */
  readonly partialGroups: {
    readonly groupIds: readonly Id[]
    readonly missingAttempts: number
    /** Mean reward of the attempts in partial groups minus that in complete ones; null without both. */
    readonly meanRewardGap: number | null
  }
  /** Null when it is not known which patches are empty. */
  readonly doNothing: DoNothingDiagnosis | null
  readonly problems: readonly Problem[]
}

/** Whether the policy is paid for leaving the work undone. */
export interface DoNothingDiagnosis {
  readonly emptyPatchAttempts: number
  /** Groups in which an attempt with an empty patch passed: the task grades as solved untouched. */
  readonly passedEmptyGroupIds: readonly Id[]
  /** Mean of reward − group mean over the graded empty patches of mixed groups; null when there are none. */
  readonly meanCentredReward: number | null
}

/**
 * The split of a batch into groups that teach and groups that don't, and what
 * to watch: zero-gradient settings, a batch without a mixed group, partial
 * groups (stopping early keeps the short attempts), and the do-nothing trap
 * (empty patches that earn as much as their group, so that training rewards
 * doing nothing). Throws `value_invalid` as `collectAttempts` and
 * `diagnoseConfiguration` do.
 *
 * @example
 * diagnoseGroups({ rewards: [1, 0, 0, 0], groupIds: ['a', 'a', 'b', 'b'], groupSize: 2 }).counts
 * // → { mixed: 1, 'all-pass': 0, 'all-fail': 1, 'too-few-graded': 0 }
 */
export function diagnoseGroups(options: AttemptRows & DiagnoseGroupsOptions): GroupDiagnosis {
  const { groupSize, temperature = 1, isPass = (reward: number) => reward === 1, isEmptyPatch } = options
  if (isEmptyPatch !== undefined) checkColumnLength('isEmptyPatch', isEmptyPatch.length, options.rewards.length)
  const problems = diagnoseConfiguration({ groupSize, temperature })
  const groups = collectAttempts(options).map((group) => ({ ...group, outcome: outcomeOf(group, isPass) }))
  const counts = { mixed: 0, 'all-pass': 0, 'all-fail': 0, 'too-few-graded': 0 }
  for (const { outcome } of groups) counts[outcome] += 1
  const mixed = groups.filter(({ outcome }) => outcome === 'mixed')
  const ofAttempts = groups.reduce((sum, { attempts }) => sum + attempts.length, 0)
  const attempts = mixed.reduce((sum, group) => sum + gradedRewards(group).length, 0)
  const partialGroups = partialGroupsOf(groups, groupSize)
  const doNothing = isEmptyPatch === undefined ? null : doNothingOf(groups, { isPass, isEmptyPatch })
  return {
    outcomes: groups.map(({ groupId, outcome }) => ({ groupId, outcome })),
    counts,
    effectiveBatch: { attempts, ofAttempts, fraction: ofAttempts === 0 ? 0 : attempts / ofAttempts },
    partialGroups,
    doNothing,
    problems: [...problems, ...problemsOf({ counts, partialGroups, doNothing, groupCount: groups.length })],
  }
}

function gradedRewards(group: AttemptGroup): number[] {
  return group.attempts.flatMap(({ reward }) => (reward === null ? [] : [reward]))
}

function outcomeOf(group: AttemptGroup, isPass: (reward: number) => boolean): GroupOutcome {
  const rewards = gradedRewards(group)
  const first = rewards[0]
  if (first === undefined || rewards.length < 2) return 'too-few-graded'
  if (rewards.some((reward) => reward !== first)) return 'mixed'
  return isPass(first) ? 'all-pass' : 'all-fail'
}

function partialGroupsOf(groups: readonly AttemptGroup[], groupSize: number): GroupDiagnosis['partialGroups'] {
  const partial = groups.filter((group) => gradedRewards(group).length < groupSize)
  const complete = groups.filter((group) => gradedRewards(group).length >= groupSize)
  const partialMean = mean(partial.flatMap(gradedRewards))
  const completeMean = mean(complete.flatMap(gradedRewards))
  return {
    groupIds: partial.map(({ groupId }) => groupId),
    missingAttempts: partial.reduce((sum, group) => sum + groupSize - gradedRewards(group).length, 0),
    meanRewardGap: partialMean === null || completeMean === null ? null : partialMean - completeMean,
  }
}

function doNothingOf(
  groups: readonly (AttemptGroup & { outcome: GroupOutcome })[],
  known: { isPass: (reward: number) => boolean; isEmptyPatch: readonly boolean[] },
): DoNothingDiagnosis {
  const isEmpty = ({ rows }: Attempt): boolean => rows.some((row) => known.isEmptyPatch[row] === true)
  const passedEmpty = (attempt: Attempt): boolean =>
    isEmpty(attempt) && attempt.reward !== null && known.isPass(attempt.reward)
  const centred = groups
    .filter(({ outcome }) => outcome === 'mixed')
    .flatMap((group) => {
      const groupMean = mean(gradedRewards(group)) ?? 0
      return group.attempts.filter(isEmpty).flatMap(({ reward }) => (reward === null ? [] : [reward - groupMean]))
    })
  return {
    emptyPatchAttempts: groups.reduce((sum, { attempts }) => sum + attempts.filter(isEmpty).length, 0),
    passedEmptyGroupIds: groups.filter(({ attempts }) => attempts.some(passedEmpty)).map(({ groupId }) => groupId),
    meanCentredReward: mean(centred),
  }
}

function problemsOf(found: {
  counts: GroupDiagnosis['counts']
  partialGroups: GroupDiagnosis['partialGroups']
  doNothing: DoNothingDiagnosis | null
  groupCount: number
}): Problem[] {
  const { counts, partialGroups, doNothing, groupCount } = found
  const problems: Problem[] = []
  if (groupCount > 0 && counts.mixed === 0) {
    problems.push({
      code: 'no_mixed_group',
      severity: 'error',
      message: `None of ${groupCount} groups has rewards that differ (${counts['all-pass']} all pass, ${counts['all-fail']} all fail, ${counts['too-few-graded']} with fewer than two grades): this batch has no gradient`,
      details: { ...counts },
    })
  }
  if (partialGroups.groupIds.length > 0) {
    problems.push({
      code: 'partial_groups',
      severity: 'warning',
      message: `${partialGroups.groupIds.length} of ${groupCount} groups lack ${partialGroups.missingAttempts} graded attempts; where slow attempts were cut, what is left is biased towards short ones`,
      details: { ...partialGroups },
    })
  }
  if (doNothing !== null && doNothing.passedEmptyGroupIds.length > 0) {
    problems.push({
      code: 'empty_patch_passes',
      severity: 'error',
      message: `${doNothing.passedEmptyGroupIds.length} groups have an attempt that passed with an empty patch: their tasks grade as solved untouched`,
      details: { groupIds: doNothing.passedEmptyGroupIds },
    })
  }
  if (doNothing !== null && doNothing.meanCentredReward !== null && doNothing.meanCentredReward >= 0) {
    problems.push({
      code: 'do_nothing_trap',
      severity: 'warning',
      message: `Empty patches earn ${doNothing.meanCentredReward.toFixed(4)} more than their group's mean: training on this batch rewards doing nothing`,
      details: { meanCentredReward: doNothing.meanCentredReward },
    })
  }
  return problems
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}
