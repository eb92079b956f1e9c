/**
 * `pnpm proof:unprivileged`: the conformance suite of the local and bubblewrap
 * drivers as a user without any right (id 65534). Started as root, which gives
 * its rights up; started as anybody else, it runs as who that is.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildPackage, built } from './build-package.mjs'

const place = process.argv[2]
if (place === undefined) startWithoutRights()
else await runSuite(place)

function startWithoutRights() {
  buildPackage()
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-unprivileged-'))
  try {
    // What the other user reads: the package with its one dependency, and this file.
    cpSync(built, join(folder, 'package'), { recursive: true, dereference: false })
    chmodSync(folder, 0o777)
    const identity = process.getuid() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    // The folders of root's PATH can not be read, which shells tell from a missing program.
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder, TMPDIR: folder }
    const run = spawnSync(process.execPath, [fileURLToPath(import.meta.url), folder], {
      ...identity,
      env,
      stdio: 'inherit',
    })
    process.exitCode = run.status ?? 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runSuite(folder) {
  const sandboxes = await import(pathToFileURL(join(resolve(folder), 'package/sandbox.js')).href)
  let failed = 0
  for (const [driver, egress] of [
    [sandboxes.createLocalDriver({ folder: join(folder, 'local') }), 'open'],
    [sandboxes.createBubblewrapDriver({ folder: join(folder, 'bubblewrap') }), 'none'],
  ]) {
    const counts = { passed: 0, failed: 0, skipped: 0 }
    const setup = { driver, boot: { egress: { kind: egress } } }
    for (const { name, run, skipReason } of sandboxes.conformanceCases) {
      if (skipReason(setup) !== undefined) counts.skipped += 1
      else {
        const error = await run(setup).then(
          () => undefined,
          (thrown) => thrown,
        )
        counts[error === undefined ? 'passed' : 'failed'] += 1
        if (error !== undefined) process.stdout.write(`FAILED ${driver.name}: ${name}\n${error.stack}\n`)
      }
    }
    failed += counts.failed
    process.stdout.write(
      `${driver.name} as user ${process.getuid()}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`,
    )
  }
  process.exitCode = failed === 0 ? 0 : 1
}
