/**
 * The properties of @agentrl/microbatch and @agentrl/metrics over 10,000 runs,
 * and the optimality of `best` over 2,500 batches: `pnpm proof:microbatch`.
 * Takes minutes.
 *
 *   SLIME_DIR               a clone of slime: its fixture is written anew; without it, left as it is
 *   PYTHON                  default python3
 *   AGENTRL_PROPERTY_RUNS   default 10000
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { SLIME_DIR: slime, PYTHON: python = 'python3', AGENTRL_PROPERTY_RUNS: runs = '10000' } = process.env

function run(program, argv) {
  execFileSync(program, argv, { cwd: root, stdio: 'inherit', env: { ...process.env, AGENTRL_PROPERTY_RUNS: runs } })
}

if (slime === undefined) console.log('SLIME_DIR is not set: slime-balancing.json is left as it is')
else run(python, ['packages/microbatch/proofs/write_fixtures.py', 'packages/microbatch/src/__fixtures__', slime])
const limits = ['--testTimeout=3600000']
run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...limits, 'packages/microbatch', 'packages/metrics'])
