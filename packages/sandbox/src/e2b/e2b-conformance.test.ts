import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { lacksBubblewrap } from '../__fixtures__/has-bubblewrap.ts'
import { registerConformance } from '../__fixtures__/register-conformance.ts'
import { createBubblewrapDriver } from '../bubblewrap/bubblewrap-driver.ts'
import { createE2bServer } from '../testing/e2b-server/e2b-server.ts'
import { createE2bDriver } from './e2b-driver.ts'

// The real SDK over the real wire, against our own server with a bubblewrap sandbox behind each of its own.
describe.skipIf(lacksBubblewrap())('the e2b driver (the stand-in server needs the program bwrap)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-e2b-test-'))
  const driver = createBubblewrapDriver({ folder })
  const server = await createE2bServer({ driver, boot: { egress: { kind: 'none' } } })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  registerConformance({
    driver: createE2bDriver({ apiKey: server.apiKey, apiUrl: server.url, sandboxUrl: server.url, template: 'base' }),
    boot: { egress: { kind: 'none' } },
  })
})
