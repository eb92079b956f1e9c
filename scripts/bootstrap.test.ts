import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'

/**
 * The real scripts in a repository of their own, with an npm and a pnpm that
 * only stand in for the network: npm runs what it is given with a pnpm on the
 * PATH, as `npm exec` does; pnpm does what the test wrote down for it.
 */
const scripts = dirname(fileURLToPath(import.meta.url))

const npmStandIn = `#!/usr/bin/env node
const { spawn } = require('node:child_process')
const { join } = require('node:path')
const [command, yes, wanted, separator, program, ...args] = process.argv.slice(2)
if (process.env.IS_OFFLINE) { console.error('npm error network'); process.exit(1) }
if ([command, yes, wanted, separator].join(' ') !== 'exec --yes --package=pnpm@10.34.9 --') process.exit(99)
const env = { ...process.env, PATH: join(__dirname, '../pnpm-bin') + ':' + process.env.PATH, npm_leaked: 'x', INIT_CWD: 'x' }
spawn(program, args, { stdio: 'inherit', env }).on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
`

interface World {
  /** What pnpm does: the body of a bash script. */
  readonly pnpm: string
  /** What stands in for vitest: a Node program. */
  readonly vitest?: string
  readonly env?: Readonly<Record<string, string>>
  readonly engines?: string
  /** The script is started by a process in between, as npm starts it. */
  readonly viaParent?: boolean
}

const parentProgram = "child_process.spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' })"

async function startTask(
  args: readonly string[],
  { pnpm, vitest = '', env = {}, engines = '>=20.19', viaParent = false }: World,
): Promise<ChildProcess> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'agentrl bootstrap ')))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await cp(scripts, join(root, 'scripts'), { recursive: true })
  await writeFile(
    join(root, 'package.json'),
    JSON.stringify({ packageManager: 'pnpm@10.34.9', engines: { node: engines } }),
  )
  for (const [path, content] of [
    ['bin/npm', npmStandIn],
    ['pnpm-bin/pnpm', `#!/bin/bash\n${pnpm}\n`],
    ['node_modules/vitest/vitest.mjs', vitest],
  ] as const) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content, { mode: 0o755 })
  }
  await symlink(process.execPath, join(root, 'bin/node'))
  const command = [join(root, 'scripts/bootstrap.mjs'), ...args]
  const child = spawn(process.execPath, viaParent ? ['-e', parentProgram, ...command] : command, {
    cwd: tmpdir(),
    env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Waits until no process holds the output any more: not the command's end, but that of all that it started. */
async function finish(child: ChildProcess) {
  if (!child.stdout || !child.stderr) throw new TypeError('expected pipes')
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { stdout, stderr, code, signal }
}

async function runTask(args: readonly string[], world: World) {
  return finish(await startTask(args, world))
}

describe('a task', () => {
  test('runs its steps in order with pnpm, on a PATH that has none, from any folder', async () => {
    const vitest =
      "import { readFileSync } from 'node:fs'; console.log('tests', process.argv.slice(2).join(' '), readFileSync('package.json').length > 0)"
    const { stdout, stderr, code } = await runTask(['test', 'packages/spec'], {
      pnpm: 'echo "pnpm $1" > steps; cat steps >&2',
      vitest,
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'tests run packages/spec true\n' })
    expect(stderr).toMatch(/^install done in \d s\n$/)
  })

  test('sees nothing of what npm sets for its scripts, but the settings that reach packages', async () => {
    const env = {
      npm_lifecycle_event: 'test',
      npm_package_json: 'x',
      INIT_CWD: 'x',
      npm_config_registry: 'http://127.0.0.1:9/',
      KEPT: 'x',
    }
    const vitest =
      'console.log(Object.keys(process.env).filter((name) => /^(npm_|INIT_CWD|KEPT|AGENTRL_)/.test(name)).sort().join())'
    expect(await runTask(['test'], { pnpm: '', vitest, env })).toMatchObject({
      code: 0,
      stdout: 'KEPT,npm_config_registry\n',
    })
  })

  test('stops at the first step that fails, with its exit code, its output and what to do', async () => {
    const pnpm = 'echo "ERR_PNPM_OUTDATED_LOCKFILE"; exit 7'
    const { stdout, stderr, code } = await runTask(['test'], { pnpm, vitest: "console.log('not reached')" })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toBe(
      'ERR_PNPM_OUTDATED_LOCKFILE\ninstall failed with exit code 7: check the network, and that pnpm-lock.yaml fits every package.json.\n',
    )
  })

  test('fails where its last step fails', async () => {
    const { stderr, code } = await runTask(['test'], { pnpm: '', vitest: 'process.exit(3)' })
    expect(code).toBe(3)
    expect(stderr).toContain('tests failed with exit code 3: the failing tests are listed above.\n')
  })

  test('that does not exist is told, with those that do', async () => {
    const { stderr, code } = await runTask(['fly'], { pnpm: '' })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'bootstrap: expected a task (install, build, test, demo, test:clients, packages), found fly\n',
    })
  })
})

describe('a machine that lacks something', () => {
  test('an old Node is told which one is needed', async () => {
    const { stderr, code } = await runTask(['test'], { pnpm: '', engines: '>=999.1' })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `AgentRL needs Node >=999.1; this is Node ${process.versions.node} (${process.execPath}). Install a newer one and run the command again.\n`,
    )
  })

  test('without a network it is told what could not be fetched', async () => {
    const { stderr, code } = await runTask(['test'], { pnpm: '', env: { IS_OFFLINE: '1' } })
    expect(code).toBe(1)
    expect(stderr).toBe(
      "npm error network\nnpm could not fetch pnpm@10.34.9 (exit code 1): check the network and npm's registry setting, and run the command again.\n",
    )
  })

  test('without npm it is told so', async () => {
    const { stderr, code } = await runTask(['test'], { pnpm: '', env: { PATH: '/no/such/folder' } })
    expect({ code, stderr }).toEqual({
      code: 127,
      stderr: 'npm was not found: install Node.js with npm, and run the command again.\n',
    })
  })
})

describe('signals reach every grandchild', () => {
  /** A test run with two children that stay; `onUp` is run when both have said that they are up. */
  const familyOf = ({ onSignal, onUp }: { onSignal: string; onUp: string }): string => `
import { spawn } from 'node:child_process'
const signals = "for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => { ${onSignal} })"
const child = signals + "; process.send('up'); setInterval(() => {}, 60_000)"
let count = 0
for (const name of ['one', 'two']) {
  spawn(process.execPath, ['-e', child], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }).on('message', () => {
    count += 1
    if (count === 2) { ${onUp} }
  })
}
`
  const whenUp = async (child: ChildProcess): Promise<void> => {
    if (child.stdout) await once(child.stdout, 'data')
  }

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('%s ends all and gives the exit code %d', async (signal, exitCode) => {
    const child = await startTask(['test'], {
      pnpm: '',
      vitest: familyOf({ onSignal: 'process.exit()', onUp: "console.log('up')" }),
    })
    await whenUp(child)
    child.kill(signal)
    expect(await finish(child)).toMatchObject({ code: exitCode })
  })

  test('processes that ignore the signal are killed', async () => {
    const env = { AGENTRL_KILL_AFTER_MS: '200' }
    const child = await startTask(['test'], {
      pnpm: '',
      vitest: familyOf({ onSignal: '', onUp: "console.log('up')" }),
      env,
    })
    await whenUp(child)
    child.kill('SIGTERM')
    expect(await finish(child)).toMatchObject({ code: 143 })
  })

  test('all end when npm is ended, which tells its script nothing', async () => {
    const vitest = familyOf({ onSignal: 'process.exit()', onUp: "console.log('up')" })
    const env = { npm_lifecycle_event: 'test' }
    const npm = await startTask(['test'], { pnpm: '', vitest, env, viaParent: true })
    await whenUp(npm)
    npm.kill('SIGKILL')
    expect(await finish(npm)).toMatchObject({ signal: 'SIGKILL' })
  })

  test('what a finished task left behind is ended', async () => {
    const vitest = familyOf({ onSignal: 'process.exit()', onUp: "console.log('up'); process.exit(0)" })
    const { code, stdout } = await runTask(['test'], { pnpm: '', vitest })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'up\n' })
  })
})
