/**
 * A lockfile names packages and their hashes, never the place they came from:
 * with an address in it, a clone behind another registry can't install.
 * Prints one line for each address and ends with 1 where there is one.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const lockfiles = execFileSync('git', ['ls-files', '*pnpm-lock.yaml'], { encoding: 'utf8' }).trim().split('\n')
const found = lockfiles.flatMap((path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((line, index) => ({ place: `${path}:${index + 1}`, line: line.trim() }))
    // The text that a package was deprecated with may hold any address.
    .filter(({ line }) => /\b[a-z][a-z+]*:\/\//.test(line) && !line.startsWith('deprecated:')),
)
for (const { place, line } of found) {
  console.error(
    `${place} holds an address; install with lockfileIncludeTarballUrl: false. Found: ${line.slice(0, 200)}`,
  )
}
console.log(`${lockfiles.length} lockfile(s), ${found.length} address(es)`)
process.exitCode = found.length === 0 && lockfiles[0] !== '' ? 0 : 1
