/** Builds the package as one file that a process can load without a build of the workspace. */
import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const built = resolve('.cache/sandbox-soak')

export function buildPackage() {
  execFileSync('npx', ['tsup', '--config', 'packages/sandbox/proofs/soak.tsup.config.ts'], { stdio: 'inherit' })
  rmSync(join(built, 'node_modules'), { force: true })
  symlinkSync(resolve('packages/sandbox/node_modules'), join(built, 'node_modules'))
}
