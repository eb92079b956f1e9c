export { type BranchPolicies, type BranchPolicy, defaultBranchPolicies } from './alignment/branch-policy.ts'
export type { AlignmentMode, Drift } from './alignment/classify-drift.ts'
export { type Departure, type DriftCause, driftCauses } from './alignment/drift-causes.ts'
export { addLedgers, emptyLedger, ledgerProblem, moveTrained, reconcile } from './alignment/ledger.ts'
export type { LinearizeOptions } from './alignment/linearize.ts'
export type { BranchRole, UntrainedReason } from './alignment/message-tree.ts'
export { keepExpertsOfAllOrNone } from './alignment/routed-experts.ts'
export {
  type ResponseSpan,
  type SampleBase,
  SampleBuilder,
  type SampleBuilderOptions,
} from './alignment/sample-builder.ts'
export {
  type Inheritance,
  type RecordedTurn,
  Trajectory,
  type TrajectoryOptions,
  type TurnHandle,
} from './alignment/trajectory.ts'
export { addCounts } from './counters.ts'
export { type HistoryReasoning, requireOneHistoryReasoning } from './history-reasoning.ts'
