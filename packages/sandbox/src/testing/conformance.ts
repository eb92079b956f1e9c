import type { ConformanceCase } from './conformance-case.ts'
import { execCases } from './conformance-exec.ts'
import { fileCases } from './conformance-files.ts'
import { lifecycleCases } from './conformance-lifecycle.ts'
import { longCases } from './conformance-long.ts'
import { networkCases } from './conformance-network.ts'
import { traceCases } from './conformance-trace.ts'

/**
 * The conformance suite of sandbox drivers. Needs no test framework; with one:
 *
 *     for (const { name, run, skipReason } of conformanceCases) {
 *       const reason = skipReason(setup)
 *       test.skipIf(reason !== undefined)(reason === undefined ? name : `${name} (${reason})`, () => run(setup))
 *     }
 */
export const conformanceCases: readonly ConformanceCase[] = [
  ...execCases,
  ...fileCases,
  ...longCases,
  ...lifecycleCases,
  ...networkCases,
  ...traceCases,
]
