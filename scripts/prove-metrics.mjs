/**
 * Writes the numbers that the tests of @agentrl/metrics compare with:
 * `pnpm proof:metrics`. SciPy, statsmodels and NumPy come into a virtual
 * environment under .cache, in the versions of packages/metrics/proofs.
 *
 *   SLIME_DIR  a clone of slime; without it its fixture is left as it is
 *   PYTHON     default python3
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const proof = join(root, 'packages/metrics/proofs')
const environment = join(root, '.cache/proof-metrics')
const python = join(environment, 'bin/python')

function run(program, argv) {
  execFileSync(program, argv, { cwd: root, stdio: 'inherit' })
}

if (!existsSync(python)) run(process.env.PYTHON ?? 'python3', ['-m', 'venv', environment])
run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', join(proof, 'requirements.txt')])
const fixtures = join(root, 'packages/metrics/src/__fixtures__')
run(python, [join(proof, 'write_fixtures.py'), fixtures])
const slime = process.env.SLIME_DIR
if (slime === undefined) console.log('SLIME_DIR is not set: slime.json is left as it is')
else run(python, [join(proof, 'write_slime_fixture.py'), fixtures, slime])
run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'packages/metrics/src/statistics.test.ts'])
