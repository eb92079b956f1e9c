/**
 * A source file has one subject. Names those over 300 lines, so that somebody
 * looks for their second subject, and refuses those over 600 (a parser that is
 * one idea may be long) and any tracked
 * file over 2 MiB.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'

const lookAtLines = 300
const maxLines = 600
const maxSizeBytes = 2 * 1024 * 1024

const isSource = (path) => /\.(ts|mjs|cjs|js|py|sh)$/.test(path) && !/(\.test\.ts$|__fixtures__\/)/.test(path)

const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean)
const problems = []
for (const path of files) {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isFile()) continue
  if (stats.size > maxSizeBytes) problems.push(`${path} is ${stats.size} bytes; the limit is ${maxSizeBytes}`)
  if (!isSource(path)) continue
  const lines = readFileSync(path, 'utf8').split('\n').length - 1
  if (lines > maxLines) problems.push(`${path} has ${lines} lines; the limit is ${maxLines}: split it by subject`)
  else if (lines > lookAtLines) console.log(`look: ${path} has ${lines} lines`)
}
for (const problem of problems) console.error(problem)
console.log(`${files.length} files, ${problems.length} too large`)
process.exitCode = problems.length === 0 ? 0 : 1
