import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sandboxId } from '@agentrl/spec'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLocalDriver } from './local-driver.ts'
import { processOwner } from './process-owner.ts'
import type { SandboxDriver } from './sandbox.ts'
import { sweepOrphans } from './sweep-orphans.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentrl-sweep-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** This process, as it would be called if it had started at another time: a process that is gone. */
const deadOwner = processOwner().replace(/\d+$/, '7')

test('a sweep ends the sandboxes of dead owners, processes included, and keeps the others', async () => {
  const driver = createLocalDriver({ folder })
  const orphan = await driver.boot({ labels: { run: 'r', attempt: '1', owner: deadOwner }, egress: { kind: 'open' } })
  const alive = await driver.boot({ labels: { run: 'r', attempt: '2' }, egress: { kind: 'open' } })
  const elsewhere = await driver.boot({
    labels: { run: 'r', attempt: '3', owner: 'other-host:1:1' },
    egress: { kind: 'open' },
  })
  const { stdout } = await orphan.exec('setsid sleep 600 > /dev/null 2>&1 & echo $!')

  const look = await sweepOrphans({ drivers: [driver], dryRun: true })
  const report = await sweepOrphans({ drivers: [driver] })

  expect(look.removed.map(({ id }) => id)).toEqual([orphan.id])
  expect(report.removed.map(({ id }) => id)).toEqual([orphan.id])
  expect(report.kept.map(({ id }) => id).sort()).toEqual([alive.id, elsewhere.id].sort())
  expect(report.failures).toEqual([])
  const state = await alive.exec(`cut -d" " -f3 /proc/${stdout.trim()}/stat 2>/dev/null || echo gone`)
  expect(['gone', 'Z']).toContain(state.stdout.trim())
  for (const sandbox of [orphan, alive, elsewhere]) await sandbox[Symbol.asyncDispose]()
  expect(readdirSync(folder)).toEqual([])
})

test('a sandbox whose time is over is removed, whoever owns it', async () => {
  const driver = createLocalDriver({ folder })
  const labels = { run: 'r', attempt: '1', owner: 'other-host:1:1' }
  const sandbox = await driver.boot({ labels, egress: { kind: 'open' }, lifetimeMs: 1_000_000 })
  const now = Date.now()
  const before = await sweepOrphans({ drivers: [driver], clock: { now: () => now + 1_000_000 } })
  const after = await sweepOrphans({ drivers: [driver], clock: { now: () => now + 1_100_000 } })
  expect([before.removed.length, after.removed.length]).toEqual([0, 1])
  await sandbox[Symbol.asyncDispose]()
})

test('a folder without a record is removed when it is a minute old', async () => {
  mkdirSync(join(folder, 'local-old/root/x'), { recursive: true })
  mkdirSync(join(folder, 'local-new'), { recursive: true })
  utimesSync(join(folder, 'local-old'), 1_000, 1_000)
  const report = await sweepOrphans({ drivers: [createLocalDriver({ folder })] })
  expect(report.removed.map(({ id }) => id)).toEqual(['local-old'])
  expect(readdirSync(folder)).toEqual(['local-new'])
})

test('a driver that fails does not keep the others from being swept', async () => {
  const record = {
    id: sandboxId('x-1'),
    driver: 'x',
    labels: { owner: deadOwner, run: 'r', attempt: '1' },
    createdAt: 0,
    endsAt: Number.POSITIVE_INFINITY,
  }
  const fails = async (): Promise<never> => {
    throw new Error('no daemon')
  }
  const base = createLocalDriver({ folder })
  const unlistable: SandboxDriver = { ...base, name: 'unlistable', list: fails }
  const unremovable: SandboxDriver = { ...base, name: 'unremovable', list: async () => [record], remove: fails }
  const report = await sweepOrphans({ drivers: [unlistable, unremovable, base] })
  expect(report.failures).toEqual([
    { driver: 'unlistable', error: 'Error: no daemon' },
    { driver: 'unremovable', id: 'x-1', error: 'Error: no daemon' },
  ])
})
