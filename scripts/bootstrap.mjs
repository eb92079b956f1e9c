/**
 * Runs a task of this repository on a machine that has only Node, npm and git:
 *
 *   npm run demo ─▶ bootstrap.mjs ─▶ npm exec pnpm@… ─▶ tasks.mjs ─▶ pnpm install, turbo, vitest, …
 *                        └────────── one process group ───────────────────┘
 *
 * npm fetches pnpm into its own cache, once, and puts it on the PATH of the task
 * alone. The task starts from a clean environment: what npm sets for its scripts
 * would reach every nested install and test.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './clean-environment.mjs'
import { runProcessGroup } from './process-group.mjs'
import { startProgress } from './progress.mjs'
import { taskNames } from './task-names.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** One line if this Node is too old for `engines.node` of package.json (`>=20.19`), else null. */
function nodeProblem({ engines }) {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [leastMajor, leastMinor] = engines.node.replace('>=', '').split('.').map(Number)
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return null
  return `AgentRL needs Node ${engines.node}; this is Node ${process.versions.node} (${process.execPath}). Install a newer one and run the command again.`
}

/** The npm that runs us, else the one on PATH. */
function npmCommand(env) {
  const path = env.npm_execpath
  return path !== undefined && basename(path) === 'npm-cli.js' ? [process.execPath, path] : ['npm']
}

function watchForStart(startFile) {
  const stopProgress = startProgress('npm fetches pnpm')
  const watch = setInterval(() => {
    if (!existsSync(startFile)) return
    clearInterval(watch)
    stopProgress()
  }, 100)
  return () => {
    clearInterval(watch)
    stopProgress()
  }
}

async function bootstrap([task, ...args]) {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const problem = nodeProblem(manifest)
  if (problem !== null) {
    console.error(problem)
    return 1
  }
  if (!taskNames.includes(task)) {
    console.error(`bootstrap: expected a task (${taskNames.join(', ')}), found ${task ?? 'none'}`)
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-bootstrap-'))
  const startFile = join(folder, 'started')
  const stopWatching = watchForStart(startFile)
  const [npm, ...npmArgs] = npmCommand(process.env)
  const command = [process.execPath, join(root, 'scripts', 'tasks.mjs'), task, ...args]
  try {
    const { code, forwarded } = await runProcessGroup(
      npm,
      [...npmArgs, 'exec', '--yes', `--package=${manifest.packageManager}`, '--', ...command],
      {
        cwd: root,
        env: { ...cleanEnvironment(process.env), AGENTRL_START_FILE: startFile },
        killAfterMs: Number(process.env.AGENTRL_KILL_AFTER_MS ?? 5000),
        parentToWatch: process.env.npm_lifecycle_event === undefined ? null : process.ppid,
      },
    )
    if (code === 127 && !existsSync(startFile)) {
      console.error('npm was not found: install Node.js with npm, and run the command again.')
    } else if (code !== 0 && forwarded === null && !existsSync(startFile)) {
      console.error(
        `npm could not fetch ${manifest.packageManager} (exit code ${code}): check the network and npm's registry setting, and run the command again.`,
      )
    }
    return code
  } finally {
    stopWatching()
    rmSync(folder, { recursive: true, force: true })
  }
}

process.exitCode = await bootstrap(process.argv.slice(2))
