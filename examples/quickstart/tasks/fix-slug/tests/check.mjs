import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// The function runs in a process of its own and is given inputs only: what it should answer is known here alone.
const [app] = process.argv.slice(2)
const cases = [
  [['Hello,  World'], 'hello-world'],
  [['  --Already--dashed--  '], 'already-dashed'],
  [['"What?"'], 'what'],
  [['Crème Brûlée & Co.'], 'creme-brulee-co'],
  [['one two', { maxLength: 4 }], 'one'],
  [['one two', { maxLength: 5 }], 'one-t'],
  [['!!!'], ''],
  [['a'.repeat(50)], 'a'.repeat(40)],
]

const module = pathToFileURL(join(app, 'src/slug.mjs')).href
const program = `
import { readFileSync } from 'node:fs'
const { slug } = await import(${JSON.stringify(module)})
const inputs = JSON.parse(readFileSync(0, 'utf8'))
console.log(JSON.stringify(inputs.map((input) => slug(...input))))
`
const input = JSON.stringify(cases.map(([input]) => input))
const output = execFileSync('node', ['--input-type=module', '--eval', program], { input, encoding: 'utf8' })
const answers = JSON.parse(output)
const failures = cases.filter(([, expected], index) => answers[index] !== expected)
for (const [[title], expected] of failures) console.log(`slug(${JSON.stringify(title)}) should be "${expected}"`)
process.exitCode = failures.length === 0 ? 0 : 1
