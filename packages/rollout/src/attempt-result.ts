import type { Departure } from '@agentrl/core'
import type { GroupId, Ledger, RolloutId, Sample } from '@agentrl/spec'

/**
 * What one attempt left. Every attempt ends in one of these: a graded one, or
 * an aborted one whose reason is a name and whose reward is null. A failure of
 * the policy (no patch, a cut reply, a turn cap, a time budget) is graded.
 */
export interface AttemptResult {
  readonly groupId: GroupId
  readonly rolloutId: RolloutId
  readonly instanceId: string
  /** Position of the task in the run, from 0. */
  readonly groupIndex: number
  /** Position of the attempt in its group, from 0. */
  readonly attemptIndex: number
  /** Null for a graded attempt. `exception:<code>` names an error of ours by its code. */
  readonly abortReason: string | null
  /** Null if infrastructure kept it from being graded. */
  readonly reward: number | null
  readonly samples: readonly Sample[]
  /** Reconciled; what an abort or a null reward keeps from training is in its bucket. */
  readonly ledger: Ledger
  /** Repairs, drifts, ignored settings and retries, by code. */
  readonly counts: Readonly<Record<string, number>>
  /** The first departure of each cause, with the place where it shows. */
  readonly drifts: readonly Departure[]
  readonly turns: number
  /** What the agent changed, as a patch. */
  readonly patch: string
  readonly agentEnd: 'finished' | 'failed' | 'timed_out' | 'cancelled' | null
  readonly agentExitCode: number | null
  readonly elapsedMs: number
  /** One line for people on what went wrong; null where nothing did. */
  readonly message: string | null
}
