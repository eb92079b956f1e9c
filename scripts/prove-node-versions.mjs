/**
 * Runs the tests that touch no platform beyond Node itself under newer Node
 * versions, which npm's `node` package brings: `pnpm proof:node-versions`.
 * Packages to test may be named as arguments. Recorded in docs/proofs.md.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './clean-environment.mjs'
import { runProcessGroup } from './process-group.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const versions = ['22.23.3', '24.21.0']
const pure = ['spec', 'tool-calls', 'metrics', 'microbatch', 'core', 'harbor'].map((name) => `packages/${name}`)

const named = process.argv.slice(2)
const folders = named.length > 0 ? named : pure.filter((folder) => existsSync(join(root, folder)))
const failed = []
for (const version of versions) {
  console.log(`\n── Node ${version}: ${folders.join(' ')}`)
  const command = [
    'node',
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=./tests/summary-reporter.ts',
    ...folders,
  ]
  const { code, forwarded } = await runProcessGroup(
    'npm',
    ['exec', '--yes', `--package=node@${version}`, '--', ...command],
    {
      cwd: root,
      env: cleanEnvironment(process.env),
    },
  )
  if (code !== 0) failed.push(version)
  if (forwarded !== null) break
}
console.log(
  failed.length === 0 ? `\npassed under Node ${versions.join(' and ')}` : `\nFAILED under Node ${failed.join(' and ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1
