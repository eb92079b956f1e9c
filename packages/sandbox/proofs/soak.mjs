/**
 * `pnpm proof:sandbox [--cycles 1000] [--docker-cycles 200] [--seed 1]`
 *
 * Boots, uses and disposes of many sandboxes with everything that may go wrong,
 * and counts what is left: processes, containers, mounts, folders, descriptors.
 * Then kills processes that own sandboxes, and counts again after a sweep.
 */
import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { buildPackage, built } from './build-package.mjs'
import { baseImage, withDockerDaemon } from './docker-daemon.mjs'

const { values } = parseArgs({
  options: {
    cycles: { type: 'string', default: '1000' },
    'docker-cycles': { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    // For the process that is killed: boots sandboxes in this folder, says so, and waits.
    'crash-in': { type: 'string' },
    driver: { type: 'string' },
    'docker-host': { type: 'string' },
    mark: { type: 'string' },
  },
})

/** Marks every process of this run: by its argument, and where that is another program's, by its environment. */
const mark = values.mark ?? `${randomInt(1e9)}`
const sleepSeconds = `86399.${mark}`
const env = { AGENTRL_SOAK: mark }
const concurrency = 4

if (values['crash-in'] === undefined) buildPackage()
const sandboxes = await import(pathToFileURL(join(built, 'sandbox.js')).href)

function makeDriver(name, folder, host) {
  if (name === 'local') return sandboxes.createLocalDriver({ folder })
  if (name === 'bubblewrap') return sandboxes.createBubblewrapDriver({ folder })
  return sandboxes.createDockerDriver({ host, image: baseImage })
}

const egressOf = (driver) => ({ kind: driver.capabilities.egress.includes('none') ? 'none' : 'open' })

/** mulberry32, so that a run can be repeated. */
function seededRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function scenarios(driver, random) {
  const soon = () => 20 + Math.floor(random() * 200)
  const common = {
    plain: async (sandbox) => expectKind(await sandbox.exec('echo hello; exit 3'), 'exited'),
    timeout: async (sandbox) =>
      expectKind(await sandbox.exec(`sleep ${sleepSeconds}`, { timeoutMs: soon() }), 'timed_out'),
    deafTimeout: async (sandbox) =>
      expectKind(
        await sandbox.exec(`trap "" TERM; sleep ${sleepSeconds} & wait`, { timeoutMs: soon(), graceMs: 20 }),
        'timed_out',
      ),
    cancel: async (sandbox) =>
      expectKind(
        await sandbox.exec(`sleep ${sleepSeconds} & sleep ${sleepSeconds}`, { signal: AbortSignal.timeout(soon()) }),
        'cancelled',
      ),
    overflow: async (sandbox) =>
      expectKind(await sandbox.exec('while :; do echo much; done', { maxOutputBytes: 10_000 }), 'overflow'),
    background: async (sandbox) =>
      expectKind(await sandbox.exec(`sleep ${sleepSeconds} > /dev/null 2>&1 & echo left`), 'exited'),
    doubleFork: async (sandbox) =>
      expectKind(
        await sandbox.exec(
          `(setsid sh -c "(setsid sleep ${sleepSeconds} > /dev/null 2>&1 < /dev/null &) &" &); echo left`,
        ),
        'exited',
      ),
    long: async (sandbox) => {
      const outcome = await sandboxes.execAndWait(sandbox, `sleep ${sleepSeconds}`, { timeoutMs: soon() })
      expectKind(outcome, 'timed_out')
    },
    disposeWhileRunning: async (sandbox) => {
      const running = sandbox.exec(`sleep ${sleepSeconds} & sleep ${sleepSeconds}`)
      await delay(soon())
      await sandbox[Symbol.asyncDispose]()
      expectKind(await running, 'cancelled')
    },
    files: async (sandbox) => {
      await sandbox.writeFile('/tests/data', Buffer.alloc(100_000, 7))
      if ((await sandbox.readFile('/tests/data')).length !== 100_000) throw new Error('a file came back short')
    },
  }
  if (!driver.capabilities.holdsEscapees) return common
  const escapee = async (sandbox) =>
    expectKind(
      await sandbox.exec(
        `(setsid sh -c "(env -i setsid sleep ${sleepSeconds} > /dev/null 2>&1 < /dev/null &) &" &); echo left`,
      ),
      'exited',
    )
  return { ...common, escapee }
}

function expectKind(outcome, kind) {
  if (outcome.kind !== kind) throw new Error(`expected ${kind}, found ${outcome.kind}: ${outcome.stderr}`)
}

async function soak(driver, cycles, seed) {
  const random = seededRandom(seed)
  const all = Object.entries(scenarios(driver, random))
  const counts = Object.fromEntries([...all.map(([name]) => [name, 0]), ['abortedBoot', 0]])
  const bootMs = []
  const disposeMs = []
  let next = 0

  async function cycle(number) {
    const boot = { labels: { run: 'soak', attempt: `${number}` }, egress: egressOf(driver), env }
    if (random() < 0.05) {
      counts.abortedBoot += 1
      const signal = AbortSignal.timeout(Math.floor(random() * 10))
      await driver.boot({ ...boot, signal }).then(
        (sandbox) => sandbox[Symbol.asyncDispose](),
        () => {},
      )
      return
    }
    const [name, run] = all[Math.floor(random() * all.length)]
    counts[name] += 1
    let startedAt = performance.now()
    const sandbox = await driver.boot(boot)
    bootMs.push(performance.now() - startedAt)
    try {
      await run(sandbox)
    } finally {
      startedAt = performance.now()
      await sandbox[Symbol.asyncDispose]()
      disposeMs.push(performance.now() - startedAt)
    }
  }

  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < cycles) {
        next += 1
        await cycle(next)
      }
    }),
  )
  return { counts, bootMs, disposeMs }
}

/** Boots of one sandbox after the other: what a boot costs when nothing else runs. */
async function timeBoots(driver, egress, count) {
  const bootMs = []
  for (let index = 0; index < count; index += 1) {
    const startedAt = performance.now()
    const sandbox = await driver.boot({ labels: { run: 'soak', attempt: 'boot' }, egress })
    bootMs.push(performance.now() - startedAt)
    await sandbox[Symbol.asyncDispose]()
  }
  return bootMs
}

const quantile = (values, q) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))]?.toFixed(1)

function leftovers(driverName, folder, before) {
  const mine = (text) => text.includes(sleepSeconds) || text.includes(`AGENTRL_SOAK=${mark}`)
  const processes = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name) || name === `${process.pid}`) return false
    try {
      if (/^State:\s+Z/m.test(readFileSync(`/proc/${name}/status`, 'utf8'))) return false
      return (
        mine(readFileSync(`/proc/${name}/cmdline`, 'latin1')) || mine(readFileSync(`/proc/${name}/environ`, 'latin1'))
      )
    } catch {
      return false
    }
  })
  return {
    processes: processes.length,
    folders: readdirSync(folder).length,
    mounts: countMounts() - before.mounts,
    descriptors: Math.max(0, readdirSync('/proc/self/fd').length - before.descriptors),
    ...(driverName === 'docker' ? { containers: before.containers() } : {}),
  }
}

const countMounts = () => readFileSync('/proc/self/mounts', 'utf8').split('\n').length

async function prove(name, cycles, host) {
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-soak-'))
  const driver = makeDriver(name, folder, host)
  const containers = () => execFileSync('docker', ['-H', host, 'ps', '-aq']).toString().split('\n').length - 1
  try {
    // What Node opens once and keeps is open before the count.
    await soak(driver, 12, 7)
    const before = { mounts: countMounts(), descriptors: readdirSync('/proc/self/fd').length, containers }
    const startedAt = performance.now()
    const { counts, bootMs, disposeMs } = await soak(driver, cycles, Number(values.seed))
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
    await delay(100)
    const left = leftovers(name, folder, before)
    say(`${name}: ${cycles} cycles in ${seconds} s, ${concurrency} at once, seed ${values.seed}`)
    say(
      `  scenarios: ${Object.entries(counts)
        .map(([key, count]) => `${key} ${count}`)
        .join(', ')}`,
    )
    say(
      `  boot p50 ${quantile(bootMs, 0.5)} ms, p95 ${quantile(bootMs, 0.95)} ms; dispose p50 ${quantile(disposeMs, 0.5)} ms, p95 ${quantile(disposeMs, 0.95)} ms`,
    )
    say(
      `  left: ${Object.entries(left)
        .map(([key, count]) => `${count} ${key}`)
        .join(', ')}`,
    )
    const alone = await timeBoots(driver, egressOf(driver), name === 'docker' ? 20 : 100)
    const load = loadavg()[0]?.toFixed(1)
    say(
      `  boot of one at a time: p50 ${quantile(alone, 0.5)} ms, p95 ${quantile(alone, 0.95)} ms, at a load of ${load}`,
    )
    const crashed = await crashAndSweep(name, folder, host, before)
    return [...Object.values(left), ...Object.values(crashed)].every((count) => count === 0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Kills a process that owns ten sandboxes with children in them, sweeps, and counts. */
async function crashAndSweep(name, folder, host, before) {
  const args = [
    'packages/sandbox/proofs/soak.mjs',
    '--crash-in',
    folder,
    '--driver',
    name,
    ...(host === undefined ? [] : ['--docker-host', host]),
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const report = await sandboxes.sweepOrphans({ drivers: [makeDriver(name, folder, host)] })
  await delay(100)
  const left = leftovers(name, folder, before)
  say(
    `  owner killed with 10 sandboxes: ${report.removed.length} swept, ${report.failures.length} failures, left: ${Object.entries(
      left,
    )
      .map(([key, count]) => `${count} ${key}`)
      .join(', ')}`,
  )
  return { ...left, notSwept: 10 - report.removed.length, failures: report.failures.length }
}

async function bootAndWait() {
  const driver = makeDriver(values.driver, values['crash-in'], values['docker-host'])
  await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const sandbox = await driver.boot({
        labels: { run: 'crash', attempt: `${index}` },
        egress: egressOf(driver),
        env,
      })
      await sandbox.exec(
        `sleep ${sleepSeconds} > /dev/null 2>&1 & (setsid sleep ${sleepSeconds} > /dev/null 2>&1 &); true`,
      )
      sandbox.exec(`sleep ${sleepSeconds}`).catch(() => {})
    }),
  )
  await delay(200)
  process.stdout.write('ready\n')
  await delay(600_000)
}

async function proveAll() {
  let isClean = true
  const cycles = Number(values.cycles)
  const dockerCycles = Number(values['docker-cycles'])
  if (cycles > 0) for (const name of ['local', 'bubblewrap']) isClean = (await prove(name, cycles)) && isClean
  if (dockerCycles > 0) isClean = (await withDockerDaemon((host) => prove('docker', dockerCycles, host))) && isClean
  say(isClean ? 'nothing is left' : 'something is left')
  process.exitCode = isClean ? 0 : 1
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

if (values['crash-in'] === undefined) await proveAll()
else await bootAndWait()
