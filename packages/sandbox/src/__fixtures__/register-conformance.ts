import { test } from 'vitest'
import { conformanceCases } from '../testing/conformance.ts'
import type { ConformanceSetup } from '../testing/conformance-case.ts'

/** Registers every conformance case as a test of vitest; a skipped one says why in its name. They mostly wait, so a few run at once. */
export function registerConformance(setup: ConformanceSetup): void {
  for (const { name, run, skipReason } of conformanceCases) {
    const reason = skipReason(setup)
    test.skipIf(reason !== undefined)(reason === undefined ? name : `${name} (${reason})`, { concurrent: true }, () => run(setup))
  }
}
