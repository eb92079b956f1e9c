/**
 * All checks in three lanes, one after the other, on a machine with Node, npm
 * and git: `node scripts/ci.mjs [fast] [pack] [system]`. A check that fails does
 * not stop the others. The last line is `N passed, N failed, N skipped` over
 * all of them: the counts of a test run are added up, any other check is one.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './clean-environment.mjs'
import { runProcessGroup } from './process-group.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const node = process.execPath
const tool = (path, ...args) => [node, join('node_modules', path), ...args]

/** `counts`: the command writes its own counts to AGENTRL_COUNTS_FILE. */
const lanes = {
  fast: [
    { name: 'npm test', command: ['npm', 'test'], counts: true },
    { name: 'lint', command: tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.') },
    { name: 'types', command: tool('typescript/bin/tsc', '-p', 'tsconfig.json') },
    {
      name: 'boundaries',
      command: tool(
        'dependency-cruiser/bin/dependency-cruise.mjs',
        '--config',
        '.dependency-cruiser.cjs',
        'packages',
        'examples',
      ),
    },
    { name: 'knip', command: tool('knip/bin/knip.js') },
    { name: 'lockfile', command: [node, 'scripts/check-lockfile.mjs'] },
    { name: 'file sizes', command: [node, 'scripts/check-file-sizes.mjs'] },
  ],
  pack: [
    { name: 'packages', command: [node, 'scripts/bootstrap.mjs', 'packages'], counts: true },
    { name: 'npm run demo', command: ['npm', 'run', 'demo'] },
  ],
  system: [{ name: 'npm run test:clients', command: ['npm', 'run', 'test:clients'], counts: true }],
}

/** Counts of one check. A test run that passed without a test, or wrote no counts, has failed. */
function readCounts({ counts }, countsFile, code) {
  const own = { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 }
  if (!counts) return own
  try {
    const read = JSON.parse(readFileSync(countsFile, 'utf8'))
    const isTold = code === 0 ? read.passed > 0 : read.failed > 0
    return isTold ? read : { ...read, failed: read.failed + 1 }
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

async function runCheck(check, folder) {
  const countsFile = join(folder, 'counts.json')
  rmSync(countsFile, { force: true })
  console.log(`\n── ${check.name}`)
  const started = Date.now()
  const [program, ...args] = check.command
  const env = { ...cleanEnvironment(process.env), AGENTRL_COUNTS_FILE: countsFile }
  const { code, forwarded } = await runProcessGroup(program, args, { cwd: root, env })
  const seconds = (Date.now() - started) / 1000
  console.log(`── ${check.name}: ${code === 0 ? 'passed' : `FAILED with exit code ${code}`} in ${seconds.toFixed(1)} s`)
  return { name: check.name, code, forwarded, seconds, counts: readCounts(check, countsFile, code) }
}

async function runLanes(names) {
  const unknown = names.filter((name) => !Object.hasOwn(lanes, name))
  if (unknown.length > 0) {
    console.error(`ci: expected lanes out of ${Object.keys(lanes).join(', ')}; found ${unknown.join(', ')}`)
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-ci-'))
  const results = []
  try {
    for (const lane of names) {
      for (const check of lanes[lane]) {
        const result = await runCheck(check, folder)
        results.push({ lane, ...result })
        if (result.forwarded !== null) return result.code
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    printSummary(names, results)
  }
  return results.every(({ code, counts }) => code === 0 && counts.failed === 0) ? 0 : 1
}

function printSummary(names, results) {
  const sum = (items, read) => items.reduce((total, item) => total + read(item), 0)
  console.log()
  for (const lane of names) {
    const own = results.filter((result) => result.lane === lane)
    const failed = own.filter(({ code, counts }) => code !== 0 || counts.failed > 0).map(({ name }) => name)
    const seconds = sum(own, (result) => result.seconds)
    console.log(`${lane}: ${seconds.toFixed(0)} s${failed.length === 0 ? '' : `, failed: ${failed.join(', ')}`}`)
  }
  const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map((key) =>
    sum(results, ({ counts }) => counts[key]),
  )
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
}

const wanted = process.argv.slice(2)
process.exitCode = await runLanes(wanted.length === 0 ? Object.keys(lanes) : wanted)
