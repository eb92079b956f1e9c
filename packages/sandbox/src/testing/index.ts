export { conformanceCases } from './conformance.ts'
export type { ConformanceCase, ConformanceSetup } from './conformance-case.ts'
export {
  createE2bServer,
  type E2bFault,
  type E2bRequest,
  type E2bServer,
  type E2bServerOptions,
} from './e2b-server/e2b-server.ts'
