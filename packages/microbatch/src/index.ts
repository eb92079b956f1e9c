export { type AlignedMicroBatches, alignMicroBatches } from './align-micro-batches.ts'
export { type CapOverflow, type CapOverflowOptions, capOverflow, type Relief } from './cap-overflow.ts'
export {
  type CostModel,
  costsOf,
  flopsCost,
  type MemoryShape,
  type ModelShape,
  memoryCost,
  tokenCost,
} from './cost-models.ts'
export { type KarmarkarKarpOptions, karmarkarKarp } from './karmarkar-karp.ts'
export { type BalancedPacking, type PackBalancedOptions, type PackStrategy, packBalanced } from './pack-balanced.ts'
export { packFirstFit } from './pack-first-fit.ts'
export type { StepStrategy } from './pack-step.ts'
export { peakLowerBound } from './peak-lower-bound.ts'
export {
  type PlanAlternative,
  type PlanFigures,
  type PlannedMicroBatch,
  type PlanOptions,
  type PlanRefusal,
  type PlanReport,
  planReport,
} from './plan-report.ts'
export { planSchedule, type Schedule, type ScheduleOptions, type ScheduleWarning } from './plan-schedule.ts'
export { repackLpt } from './repack-lpt.ts'
