export { findHarness, harnesses } from './find-harness.ts'
export type { Harness, HarnessContext, HarnessResult } from './harness.ts'
