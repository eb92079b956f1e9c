export { conformanceCases } from './conformance.ts'
export type { ConformanceCase, ConformanceSetup } from './conformance-case.ts'
