import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalDriver, processOwner } from '@agentrl/sandbox'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCaptured } from './testing/run-captured.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentrl-doctor-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const doctor = (...argv: string[]) => runCaptured('doctor', '--sandbox-folder', folder, ...argv)

/** This process under another start time: an owner that is gone. */
const deadOwner = processOwner().replace(/\d+$/, '7')

test('doctor names orphans, --sweep removes them, and what is in use stays', async () => {
  const driver = createLocalDriver({ folder })
  const orphan = await driver.boot({
    labels: { run: 'old', attempt: 'a-1', owner: deadOwner },
    egress: { kind: 'open' },
  })
  const inUse = await driver.boot({ labels: { run: 'new', attempt: 'a-2' }, egress: { kind: 'open' } })

  const look = await doctor()
  expect(look.out).toContain(`${orphan.id}  local   old  a-1`)
  expect(look.err).toBe('1 sandboxes in use, 1 orphans found; --sweep removes them\n')
  expect((await readdir(folder)).length).toBe(2)

  const sweep = await doctor('--sweep')
  expect(sweep).toMatchObject({ code: 0, err: '1 sandboxes in use, 1 orphans removed\n' })
  expect(await readdir(folder)).toEqual([inUse.id])
  await orphan[Symbol.asyncDispose]()
  await inUse[Symbol.asyncDispose]()
})

test('a daemon that can not be asked is named, and the status says so', async () => {
  const { code, err } = await doctor('--docker-host', 'unix:///no/such.sock')
  expect(code).toBe(1)
  expect(err).toContain('/no/such.sock')
})
