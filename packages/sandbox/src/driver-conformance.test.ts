import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { createBubblewrapDriver } from './bubblewrap/bubblewrap-driver.ts'
import { createLocalDriver } from './local-driver.ts'
import { conformanceCases } from './testing/conformance.ts'
import type { ConformanceSetup } from './testing/conformance-case.ts'

const folder = mkdtempSync(join(tmpdir(), 'agentrl-sandbox-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function hasBubblewrap(): boolean {
  try {
    execFileSync('bwrap', ['--version'])
    return true
  } catch {
    return false
  }
}

function registerCases(setup: ConformanceSetup): void {
  for (const { name, run, skipReason } of conformanceCases) {
    const reason = skipReason(setup)
    test.skipIf(reason !== undefined)(reason === undefined ? name : `${name} (${reason})`, () => run(setup))
  }
}

describe('the local driver', () => {
  registerCases({ driver: createLocalDriver({ folder }), boot: { egress: { kind: 'open' } } })
})

// A machine of a user may have no bubblewrap, and then this says so. Ours has to.
describe.skipIf(!hasBubblewrap() && process.env.CI !== 'true')(
  'the bubblewrap driver (needs the program bwrap)',
  () => {
    registerCases({ driver: createBubblewrapDriver({ folder }), boot: { egress: { kind: 'none' } } })
  },
)
