/**
 * The steps of each task, run one after the other with pnpm on the PATH. A step
 * that installs or builds says nothing unless it fails; a step that the task is
 * about prints as it goes. The first failure ends the task with its exit code.
 *
 * Started by `bootstrap.mjs`; arguments after the task go to its last step.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './clean-environment.mjs'
import { startProgress } from './progress.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run']
const pnpmInstall = ['pnpm', 'install', '--frozen-lockfile', '--prefer-offline', '--config.confirmModulesPurge=false']

const install = {
  name: 'install',
  command: pnpmInstall,
  isQuiet: true,
  hint: 'check the network, and that pnpm-lock.yaml fits every package.json',
}
const build = {
  name: 'build',
  command: ['pnpm', 'exec', 'turbo', 'run', 'build', '--output-logs=errors-only', '--no-update-notifier'],
  isQuiet: true,
  hint: 'the package that is named above does not compile',
}
/** Without declarations: nobody compiles against what the demo and the client tests run. */
const quickBuild = { ...build, env: { AGENTRL_BUILD_TYPES: '0' } }
const unit = { name: 'tests', command: vitest, hint: 'the failing tests are listed above' }
const demo = {
  name: 'demo',
  command: [process.execPath, 'examples/quickstart/demo.mjs'],
  hint: 'the reason stands above',
}
const clientInstall = {
  name: 'install of the clients',
  command: [...pnpmInstall, '--ignore-workspace', '--dir', 'tests/clients'],
  isQuiet: true,
  hint: 'check the network, and that tests/clients/pnpm-lock.yaml fits its package.json',
}
const clients = {
  name: 'tests with real clients',
  command: [...vitest, '--config', 'tests/clients/vitest.config.ts'],
  hint: 'the failing tests are listed above',
}
const packages = {
  name: 'package checks',
  command: [process.execPath, 'scripts/check-packages.mjs'],
  hint: 'the failing checks are listed above',
}

/** The names are those of `task-names.mjs`. */
const tasks = {
  install: [install],
  build: [install, build],
  test: [install, unit],
  demo: [install, quickBuild, demo],
  'test:clients': [install, quickBuild, clientInstall, clients],
  packages: [install, build, packages],
}

/** Runs a command; gives its exit code and, for a quiet step, the end of what it printed. */
function run({ command: [program, ...args], env: stepEnv, isQuiet }, env) {
  return new Promise((settle) => {
    const stdio = isQuiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit']
    const child = spawn(program, args, {
      cwd: root,
      env: { ...env, ...stepEnv },
      stdio,
      shell: process.platform === 'win32',
    })
    let tail = ''
    for (const stream of isQuiet ? [child.stdout, child.stderr] : []) {
      stream.setEncoding('utf8')
      stream.on('data', (text) => {
        tail = (tail + text).slice(-20_000)
      })
    }
    child.on('error', (error) => settle({ code: 127, tail: `${error.message}\n` }))
    child.on('close', (code, signal) => settle({ code: code ?? 128 + constants.signals[signal], tail }))
  })
}

async function runTask([task, ...args]) {
  const env = { ...cleanEnvironment(process.env), TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }
  if (env.AGENTRL_START_FILE) writeFileSync(env.AGENTRL_START_FILE, '')
  delete env.AGENTRL_START_FILE
  const steps = tasks[task]
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1
    const stopProgress = step.isQuiet ? startProgress(step.name) : () => null
    const { code, tail } = await run(isLast ? { ...step, command: [...step.command, ...args] } : step, env)
    const elapsed = stopProgress()
    if (code !== 0) {
      process.stderr.write(tail)
      console.error(`${step.name} failed with exit code ${code}: ${step.hint}.`)
      return code
    }
    if (elapsed !== null) console.error(`${step.name} done in ${elapsed}`)
  }
  return 0
}

process.exitCode = await runTask(process.argv.slice(2))
