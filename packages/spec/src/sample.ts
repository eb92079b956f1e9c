import type { GroupId, RolloutId, SampleId } from './ids.ts'
import type { JsonValue } from './json.ts'
import type { Logprobs, TokenIds, TokenMask } from './tokens.ts'
import type { RoutedExperts } from './turn.ts'

/** How the part of the attempt that a sample holds came to its end. */
export type SampleStatus = 'completed' | 'truncated' | 'aborted'

/** What a sample says about itself; fields that a trainer reads are named, others may be added. */
export interface SampleMetadata {
  /** The last turn was cut by length. */
  readonly truncated: boolean
  /** At least one turn called a tool. */
  readonly use_tool: boolean
  /** At least one turn broke its tool-call format. */
  readonly ill_formed: boolean
  readonly [key: string]: JsonValue
}

/**
 * One training row: the tokens of one branch of one attempt.
 *
 * `tokens` is prompt and response, T long; the arrays over the response are
 * R = T - promptLength long. "Response" is everything after the first prompt,
 * tool results and later prompts included; those positions have mask 0 and
 * log-probability 0.
 */
export interface Sample {
  readonly id: SampleId
  readonly groupId: GroupId
  readonly rolloutId: RolloutId
  /** Shape [T]. */
  readonly tokens: TokenIds
  /** Length of the first prompt; at least 1. */
  readonly promptLength: number
  /** R. Negative when a length limit cut the sample inside its first prompt; `isRemoved` is true then. */
  readonly responseLength: number
  /** Shape [R]: 1 where the token was sampled by the policy and is to be trained. */
  readonly lossMask: TokenMask
  /** Shape [R]: log-probability of the sampled id; 0 where the mask is 0. */
  readonly logprobs: Logprobs
  /** Null: the attempt could not be graded because of infrastructure. */
  readonly reward: number | null
  readonly status: SampleStatus
  /** The trainer must leave it out of the loss. */
  readonly isRemoved: boolean
  readonly weightVersions: readonly string[]
  readonly routedExperts?: RoutedExperts
  readonly metadata: SampleMetadata
}
