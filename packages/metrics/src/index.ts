export {
  type Attempt,
  type AttemptGroup,
  type AttemptRows,
  collectAttempts,
  type Id,
  type Segment,
  segmentColumns,
} from './attempts.ts'
export { type BootstrapOptions, type BootstrapResult, bootstrapDifference, bootstrapMean } from './bootstrap.ts'
export type { Interval } from './confidence.ts'
export {
  type DiagnoseGroupsOptions,
  type DoNothingDiagnosis,
  diagnoseConfiguration,
  diagnoseGroups,
  type GroupDiagnosis,
  type GroupOutcome,
  type SamplingSettings,
} from './diagnose-groups.ts'
export { type Divergence, type DivergenceStreams, divergence } from './divergence.ts'
export {
  type AdvantageEstimator,
  type DroppedGroup,
  type GroupAdvantageOptions,
  type GroupAdvantages,
  type GroupBaseline,
  groupAdvantages,
} from './group-advantages.ts'
export { type LossWeighting, lossWeights } from './loss-weights.ts'
export { type MajorityOptions, majorityAtK } from './majority-at-k.ts'
export { type TrendOptions, type TrendResult, trend, type WelchResult, welch } from './means.ts'
export { passAtK, passHatK } from './pass-at-k.ts'
export {
  type GroupedPassRateOptions,
  groupedPassRate,
  type PassRateOptions,
  type PassRateResult,
  type PassRates,
  passRate,
} from './pass-rate.ts'
export { percentiles } from './percentiles.ts'
export type { Problem } from './problem.ts'
export {
  type McnemarResult,
  mcnemar,
  type PairedOutcomes,
  pairedOutcomes,
  type TwoProportionComparison,
  twoProportion,
  wilson,
} from './proportions.ts'
export {
  type AttemptRecord,
  type Rate,
  type RolloutHealth,
  type RolloutHealthOptions,
  rolloutHealth,
} from './rollout-health.ts'
