import type { BranchRole } from './message-tree.ts'

/**
 * What becomes of the turns of a branch.
 *
 * train    they are trained
 * context  they are not, and stand as context in samples of the turns that continue from them
 * drop     they are not, and neither is any turn that continues from them
 *
 * Tokens that a policy keeps from training are in the bucket `branch_policy`.
 */
export type BranchPolicy = 'train' | 'context' | 'drop'

/** A policy for each role. */
export type BranchPolicies = Readonly<Record<BranchRole, BranchPolicy>>

/**
 * Everything is trained. A sub-agent's work and a summary decide over the
 * reward as much as the main conversation does. A title decides over nothing:
 * its gradient is zero on average, so training it costs a little noise, while a
 * role that was guessed wrongly under a stricter default would cost the data of
 * a whole attempt. Whoever wants titles left out says `auxiliary: 'context'`.
 */
export const defaultBranchPolicies: BranchPolicies = {
  main: 'train',
  sub_agent: 'train',
  compaction: 'train',
  auxiliary: 'train',
}
