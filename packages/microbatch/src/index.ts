export { type AlignedMicroBatches, alignMicroBatches } from './align-micro-batches.ts'
export { packFirstFit } from './pack-first-fit.ts'
export { planSchedule, type Schedule, type ScheduleOptions, type ScheduleWarning } from './plan-schedule.ts'
export { repackLpt } from './repack-lpt.ts'
