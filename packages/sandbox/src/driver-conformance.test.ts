import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { registerConformance } from './__fixtures__/register-conformance.ts'
import { createBubblewrapDriver } from './bubblewrap/bubblewrap-driver.ts'
import { createLocalDriver } from './local-driver.ts'

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

describe('the local driver', () => {
  registerConformance({ driver: createLocalDriver({ folder }), boot: { egress: { kind: 'open' } } })
})

// A machine of a user may have no bubblewrap, and then this says so. Ours has to.
describe.skipIf(!hasBubblewrap() && process.env.CI !== 'true')(
  'the bubblewrap driver (needs the program bwrap)',
  () => {
    registerConformance({ driver: createBubblewrapDriver({ folder }), boot: { egress: { kind: 'none' } } })
  },
)
