import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { SandboxDriver } from '../sandbox.ts'
import type { EgressPolicy } from '../sandbox-types.ts'
import {
  type ConformanceCase,
  type ConformanceSetup,
  ending,
  labels,
  needsProc,
  plainCase,
  sandboxCase,
  settleProcesses,
  uniqueSleep,
  withHostFolder,
} from './conformance-case.ts'

const lost = { code: 'sandbox_lost' }
const refused = { code: 'sandbox_invalid_option' }

async function isListed(driver: SandboxDriver, id: string): Promise<boolean> {
  return (await driver.list()).some((record) => record.id === id)
}

const needsHold = (setup: ConformanceSetup): string | undefined =>
  setup.driver.capabilities.holdsEscapees
    ? needsProc(setup)
    : 'the driver can not hold a child that leaves its session, forks twice and clears its environment'

const acceptsEverything: Record<EgressPolicy['kind'], EgressPolicy> = {
  none: { kind: 'none' },
  adapter: { kind: 'adapter', adapter: { socketPath: '/none', port: 80 } },
  hosts: { kind: 'hosts', hosts: ['example.org'] },
  open: { kind: 'open' },
}

/** Boot, life, end, and what is left: nothing. */
export const lifecycleCases: readonly ConformanceCase[] = [
  sandboxCase(
    'disposing twice is fine, and afterwards everything says that the sandbox is lost',
    async ({ sandbox }) => {
      await Promise.all([sandbox[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()])
      await sandbox[Symbol.asyncDispose]()
      await assert.rejects(sandbox.exec('true'), lost)
      await assert.rejects(sandbox.readFile('x'), lost)
      await assert.rejects(sandbox.writeFile('x', ''), lost)
      await assert.rejects(sandbox.exists('x'), lost)
      await assert.rejects(sandbox.extendLifetime(1_000), lost)
    },
  ),
  sandboxCase('disposal cancels what runs and ends what was left in the background', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    await sandbox.exec(`sleep ${seconds} & (setsid sleep ${seconds} &) ; true`)
    const running = sandbox.exec(`sleep ${seconds}`)
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 3), 3)
    await sandbox[Symbol.asyncDispose]()
    assert.equal(ending(await running), 'cancelled')
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0, 0), 0)
  }),
  sandboxCase(
    'commands and file calls that meet the disposal are told, and leave nothing',
    async ({ sandbox, setup }) => {
      const seconds = uniqueSleep()
      const working = Array.from({ length: 8 }, (_, number) => [
        sandbox.exec(`sleep ${seconds}`),
        sandbox.writeFile(`file-${number}`, 'x'),
      ]).flat()
      const ended = sandbox[Symbol.asyncDispose]()
      for (const result of await Promise.allSettled(working)) {
        if (result.status === 'rejected') assert.equal(result.reason.code, 'sandbox_lost')
        else if (result.value !== undefined) assert.equal(ending(result.value), 'cancelled')
      }
      await ended
      assert.equal(await isListed(setup.driver, sandbox.id), false)
      if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0, 0), 0)
    },
  ),
  sandboxCase(
    'folders without rights, and deeper than a path is long, end with the sandbox',
    async ({ sandbox, setup }) => {
      const nest = `name=$(printf %0200d 0); i=0; while [ $i -lt 30 ]; do mkdir $name && cd $name; i=$((i + 1)); done
      mkdir closed && touch closed/file && chmod 0 closed`
      assert.equal(ending(await sandbox.exec(nest)), 'exited 0')
      await sandbox[Symbol.asyncDispose]()
      assert.equal(await isListed(setup.driver, sandbox.id), false)
    },
  ),
  sandboxCase('processes without end that each start another end with the sandbox', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    // Each lives for a moment and starts the next, so that whoever looks for them comes too late.
    await sandbox.writeFile('breed.sh', 'sh "$0" "$1" > /dev/null 2>&1 & sleep 0.05')
    await sandbox.exec(`for n in 1 2 3 4 5; do sh breed.sh ${seconds} > /dev/null 2>&1 & done`)
    await sandbox[Symbol.asyncDispose]()
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0, 0), 0)
  }),
  sandboxCase(
    'a child that leaves its session, forks twice and clears its environment ends with the sandbox',
    async ({ sandbox }) => {
      const seconds = uniqueSleep()
      await sandbox.exec(`(setsid sh -c "(env -i setsid sleep ${seconds} < /dev/null > /dev/null 2>&1 &) &" &) ; true`)
      assert.equal(await settleProcesses(seconds, 1), 1)
      await sandbox[Symbol.asyncDispose]()
      assert.equal(await settleProcesses(seconds, 0, 0), 0)
    },
    { skip: needsHold },
  ),
  sandboxCase('two sandboxes do not share files', async ({ sandbox, setup }) => {
    const other = await setup.driver.boot({ ...setup.boot, labels })
    try {
      await sandbox.writeFile('/app/mine', 'x')
      await sandbox.writeFile('/tmp/mine', 'x')
      assert.notEqual(other.id, sandbox.id)
      assert.deepEqual([await other.exists('/app/mine'), await other.exists('/tmp/mine')], [false, false])
    } finally {
      await other[Symbol.asyncDispose]()
    }
  }),
  sandboxCase('a sandbox is listed with its labels while it lives', async ({ sandbox, setup }) => {
    const record = (await setup.driver.list()).find(({ id }) => id === sandbox.id)
    assert.deepEqual(record?.labels, sandbox.labels)
    assert.equal(record?.labels.run, 'conformance')
    assert.ok(record.endsAt > record.createdAt)
    await sandbox[Symbol.asyncDispose]()
    assert.equal(await isListed(setup.driver, sandbox.id), false)
  }),
  sandboxCase('removing a listed sandbox ends it, and removing it again is fine', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    await sandbox.exec(`setsid sleep ${seconds} & true`)
    const record = (await setup.driver.list()).find(({ id }) => id === sandbox.id)
    assert.ok(record)
    await setup.driver.remove(record)
    await setup.driver.remove(record)
    assert.equal(await isListed(setup.driver, sandbox.id), false)
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
  }),
  plainCase('a sandbox ends by itself when its life is over', async (setup) => {
    const sandbox = await setup.driver.boot({ ...setup.boot, labels, lifetimeMs: 1_000 })
    await assert.rejects(sandbox.exec('sleep 60'), lost)
    await assert.rejects(sandbox.exec('true'), lost)
    await sandbox[Symbol.asyncDispose]()
    assert.equal(await isListed(setup.driver, sandbox.id), false)
  }),
  plainCase('a life can be made longer', async (setup) => {
    const sandbox = await setup.driver.boot({ ...setup.boot, labels, lifetimeMs: 2_000 })
    try {
      await sandbox.extendLifetime(60_000)
      await delay(2_100)
      assert.equal(ending(await sandbox.exec('true')), 'exited 0')
    } finally {
      await sandbox[Symbol.asyncDispose]()
    }
  }),
  plainCase('a boot with an aborted signal rejects with its reason', async (setup) => {
    const signal = AbortSignal.abort(new Error('no more'))
    await assert.rejects(setup.driver.boot({ ...setup.boot, labels: { run: 'aborted', attempt: '1' }, signal }), {
      message: 'no more',
    })
    assert.equal((await setup.driver.list()).filter((record) => record.labels.run === 'aborted').length, 0)
  }),
  plainCase('a boot that is aborted on its way leaves nothing', async (setup) => {
    const controller = new AbortController()
    const booting = setup.driver.boot({
      ...setup.boot,
      labels: { run: 'aborted', attempt: '2' },
      signal: controller.signal,
    })
    controller.abort(new Error('changed our mind'))
    await assert.rejects(booting, { message: 'changed our mind' })
    assert.equal((await setup.driver.list()).filter((record) => record.labels.run === 'aborted').length, 0)
  }),
  plainCase('labels, names and lifetimes that are none are refused', async ({ driver, boot }) => {
    await assert.rejects(driver.boot({ ...boot, labels: { run: 'a b', attempt: '1' } }), refused)
    await assert.rejects(driver.boot({ ...boot, labels: { run: '', attempt: '1' } }), refused)
    await assert.rejects(driver.boot({ ...boot, labels, lifetimeMs: 0 }), refused)
    await assert.rejects(driver.boot({ ...boot, labels, env: { 'A B': 'x' } }), refused)
    await assert.rejects(driver.boot({ ...boot, labels, env: { A: 'a\0b' } }), refused)
    await assert.rejects(driver.boot({ ...boot, labels, workdir: '/../x' }), { code: 'sandbox_path_outside' })
  }),
  plainCase('what the driver can not give is refused, never ignored', async ({ driver, boot }) => {
    const { capabilities } = driver
    const kinds = Object.values(acceptsEverything).filter(({ kind }) => !capabilities.egress.includes(kind))
    for (const egress of kinds) await assert.rejects(driver.boot({ ...boot, labels, egress }), refused)
    if (!capabilities.hasImages) await assert.rejects(driver.boot({ ...boot, labels, image: 'x' }), refused)
    if (!capabilities.hasResources)
      await assert.rejects(driver.boot({ ...boot, labels, resources: { cpus: 1 } }), refused)
    if (!capabilities.hasMounts) {
      await assert.rejects(driver.boot({ ...boot, labels, mounts: [{ hostPath: '/usr', path: '/x' }] }), refused)
    }
  }),
  plainCase(
    'a mount is visible, and read-only where there is a root of its own',
    (setup) =>
      withHostFolder(async (folder) => {
        await writeFile(join(folder, 'data'), 'of the host')
        const mounts = [{ hostPath: folder, path: '/mounted' }]
        const sandbox = await setup.driver.boot({ ...setup.boot, labels, mounts })
        try {
          assert.equal((await sandbox.exec(['cat', sandbox.path('/mounted/data')])).stdout, 'of the host')
          if (sandbox.capabilities.hasOwnRoot) await sandbox.exec('echo changed > /mounted/data')
        } finally {
          await sandbox[Symbol.asyncDispose]()
        }
        assert.equal(await readFile(join(folder, 'data'), 'utf8'), 'of the host')
      }),
    ({ driver }) => (driver.capabilities.hasMounts ? undefined : 'the driver has no mounts'),
  ),
  plainCase(
    'a mount of what is not there fails the boot, makes nothing on the host and leaves nothing',
    (setup) =>
      withHostFolder(async (folder) => {
        const mounts = [{ hostPath: join(folder, 'none'), path: '/mounted' }]
        const run = 'mount-of-nothing'
        const booting = setup.driver.boot({ ...setup.boot, labels: { run, attempt: '1' }, mounts })
        await assert.rejects(booting, { code: 'sandbox_boot_failed', message: /none/ })
        assert.deepEqual(await readdir(folder), [])
        assert.equal((await setup.driver.list()).filter((record) => record.labels.run === run).length, 0)
      }),
    ({ driver }) => (driver.capabilities.hasMounts ? undefined : 'the driver has no mounts'),
  ),
]
