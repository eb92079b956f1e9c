import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const [app] = process.argv.slice(2)
const numbers = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`)
const range = (from, to) => numbers.slice(from - 1, to).map((line, index) => `${from + index}: ${line}\n`)
const wrongRange = { stdout: '', stderr: 'lines: expected 1 <= FROM <= TO\n', status: 2 }
const right = (lines) => ({ stdout: lines.join(''), stderr: '', status: 0 })
const text = `${numbers.join('\n')}\n`
const cases = [
  [text, 2, 3, right(range(2, 3))],
  [text, 1, 1, right(range(1, 1))],
  [text, 1, 12, right(range(1, 12))],
  [text, 9, 11, right(range(9, 11))],
  [text, 12, 99, right(range(12, 12))],
  [text, 13, 99, right([])],
  [text.trimEnd(), 12, 12, right(range(12, 12))],
  ['a\n\nb\n', 1, 9, right(['1: a\n', '2: \n', '3: b\n'])],
  ['', 1, 1, right([])],
  ['\n', 1, 1, right(['1: \n'])],
  [text, 0, 3, wrongRange],
  [text, 3, 2, wrongRange],
]

const root = mkdtempSync(join(tmpdir(), 'lines '))
const failures = cases.filter(([content, from, to, expected], index) => {
  const file = join(root, `file ${index}.txt`)
  writeFileSync(file, content)
  const run = spawnSync('node', [join(app, 'lines.mjs'), file, String(from), String(to)], { encoding: 'utf8' })
  const isRight = Object.entries(expected).every(([key, value]) => run[key] === value)
  if (!isRight)
    console.log(`lines ${from} ${to} of ${JSON.stringify(content.slice(0, 20))}: ${JSON.stringify(run.stdout)}`)
  return !isRight
})
rmSync(root, { recursive: true })
process.exitCode = failures.length === 0 ? 0 : 1
