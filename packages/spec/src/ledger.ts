/**
 * The ledger: law 1, conservation. Every token that an engine returned to us
 * ends in exactly one bucket. Buckets partition the sampled tokens, so their
 * counts add up to `sampledTokens` at every level: session, attempt, group,
 * batch.
 */

/** Every bucket, with what it means for a token to be in it. */
export const bucketMeanings = {
  trained: 'in a sample, with loss mask 1',
  realigned: 'overwritten by a re-rendered prompt that departed from it',
  rewrite_merged: 'its message was replaced by the rewrite that the client sent back',
  stop_token_mismatch: 'a stop id that the template does not write at this place in history',
  branch_policy: 'on a branch whose role is not trained',
  disconnected: 'in a reply that never reached the client',
  engine_aborted: 'sampled in a call that the engine aborted',
  truncated: 'beyond the longest sample allowed',
  no_logprobs: 'the engine gave no log-probability for it',
  ill_formed_policy: 'in a reply that broke its format, under a policy that leaves those out',
  attempt_aborted: 'in an attempt that infrastructure ended',
  reward_null: 'in an attempt that could not be graded',
  group_dropped: 'in a group that was dropped whole',
  zero_variance_filtered: 'in a group whose rewards are all equal, under a policy that leaves those out',
  stale: 'sampled by weights that are too old to train on',
  schedule_dropped: 'left out by the micro-batch schedule',
} as const

/** The name of a bucket. */
export type Bucket = keyof typeof bucketMeanings

/** The names of all buckets, `trained` first. */
export const buckets: readonly Bucket[] = Object.keys(bucketMeanings) as Bucket[]

/** Where the sampled tokens of a session, attempt, group or batch went. */
export interface Ledger {
  /** Tokens that engines returned. Equals the sum of all buckets when reconciled. */
  readonly sampledTokens: number
  readonly buckets: Readonly<Record<Bucket, number>>
  /** Positions of sampled tokens that stand in further samples as untrained context. Not part of the partition. */
  readonly contextRepeatPositions: number
  /** Engine calls whose reply never came back to us. Their tokens are unknown. */
  readonly lostCalls: number
}
