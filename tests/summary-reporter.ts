import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/**
 * Ends a run with `N passed, N failed, N skipped`. A file that could not be
 * loaded counts as one failure. `AGENTRL_COUNTS_FILE` receives the counts as
 * JSON, so that a caller can add up several runs.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const state = test.result().state
        if (state === 'passed') counts.passed += 1
        else if (state === 'failed') counts.failed += 1
        else counts.skipped += 1
      }
      counts.failed += module.errors().length
    }
    const countsFile = process.env.AGENTRL_COUNTS_FILE
    if (countsFile) writeFileSync(countsFile, JSON.stringify(counts))
    const runs = process.env.AGENTRL_PROPERTY_RUNS ?? '200'
    const seed = process.env.AGENTRL_PROPERTY_SEED ?? '20261129'
    process.stdout.write(`\nproperties: ${runs} runs each, seed ${seed}\n`)
    process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
  }
}
