export {
  type Attempt,
  type AttemptGroup,
  type AttemptRows,
  collectAttempts,
  type Id,
  type Segment,
  segmentColumns,
} from './attempts.ts'
export {
  type DiagnoseGroupsOptions,
  type DoNothingDiagnosis,
  diagnoseConfiguration,
  diagnoseGroups,
  type GroupDiagnosis,
  type GroupOutcome,
  type SamplingSettings,
} from './diagnose-groups.ts'
export {
  type AdvantageEstimator,
  type DroppedGroup,
  type GroupAdvantageOptions,
  type GroupAdvantages,
  type GroupBaseline,
  groupAdvantages,
} from './group-advantages.ts'
export { type LossWeighting, lossWeights } from './loss-weights.ts'
export { passAtK, passHatK } from './pass-at-k.ts'
export {
  type GroupedPassRateOptions,
  groupedPassRate,
  type PassRateOptions,
  type PassRateResult,
  type PassRates,
  passRate,
} from './pass-rate.ts'
export type { Problem } from './problem.ts'
