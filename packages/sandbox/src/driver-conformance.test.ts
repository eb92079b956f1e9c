import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { lacksBubblewrap } from './__fixtures__/has-bubblewrap.ts'
import { registerConformance } from './__fixtures__/register-conformance.ts'
import { createBubblewrapDriver } from './bubblewrap/bubblewrap-driver.ts'
import { createLocalDriver } from './local-driver.ts'

const folder = mkdtempSync(join(tmpdir(), 'agentrl-sandbox-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the local driver', () => {
  registerConformance({ driver: createLocalDriver({ folder }), boot: { egress: { kind: 'open' } } })
})

describe.skipIf(lacksBubblewrap())('the bubblewrap driver (needs the program bwrap)', () => {
  registerConformance({ driver: createBubblewrapDriver({ folder }), boot: { egress: { kind: 'none' } } })
})
