import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// The functions run in a process of their own and are given inputs only: what they should answer is known here alone.
const [app] = process.argv.slice(2)
const base = { a: { b: { c: 1, d: 2 }, list: [1, 2] }, e: 1 }
const cases = [
  ['read-lines', 'readLines', ['a = "x # y" # z'], [{ section: '', key: 'a', raw: '"x # y"' }]],
  ['read-lines', 'readLines', ['[s]\na = "x" # "y # z"'], [{ section: 's', key: 'a', raw: '"x"' }]],
  ['read-lines', 'readLines', ['a = 1\n?'], 'error line 2'],
  ['parse-value', 'parseValue', ['off'], false],
  ['parse-value', 'parseValue', ['yes'], true],
  ['parse-value', 'parseValue', ['0'], 0],
  ['parse-value', 'parseValue', ['0.0, no, "", x'], [0, false, '', 'x']],
  ['parse-value', 'parseValue', [''], ''],
  ['merge-settings', 'mergeSettings', [base, { a: { b: { d: 3 } } }], { a: { b: { c: 1, d: 3 }, list: [1, 2] }, e: 1 }],
  [
    'merge-settings',
    'mergeSettings',
    [base, { a: { list: [3], b: 4 }, e: { f: 1 } }],
    { a: { b: 4, list: [3] }, e: { f: 1 } },
  ],
  [
    'expand-references',
    'expandReferences',
    [{ a: 1, b: '${a}-${a}-${c.d}', c: { d: true } }],
    { a: 1, b: '1-1-true', c: { d: true } },
  ],
  ['expand-references', 'expandReferences', [{ a: '${no.where}' }], 'error no.where'],
  [
    'load-config',
    'loadConfig',
    [['[a.b]\nx = 0\ny = "#"', '[a.b]\nz = ${a.b.x}${a.b.y}']],
    { a: { b: { x: 0, y: '#', z: '0#' } } },
  ],
]

const program = `
import { readFileSync } from 'node:fs'
const { source, name, input } = JSON.parse(readFileSync(0, 'utf8'))
const module = await import(source)
let answer
try {
  answer = module[name](...input)
} catch (error) {
  answer = { error: error.message }
}
console.log(JSON.stringify({ answer, input }))
`
function call([file, name, input]) {
  const source = pathToFileURL(join(app, 'src', `${file}.mjs`)).href
  const options = { input: JSON.stringify({ source, name, input }), encoding: 'utf8' }
  return JSON.parse(execFileSync('node', ['--input-type=module', '--eval', program], options))
}

/** JSON with sorted keys. */
const canonical = (value) =>
  JSON.stringify(value, (_, item) =>
    item && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)))
      : item,
  )
function isRight([, , input, expected], { answer, input: inputAfter }) {
  if (canonical(input) !== canonical(inputAfter)) return false
  const [, error] = /^error (.*)$/.exec(expected) ?? []
  return error === undefined ? canonical(answer) === canonical(expected) : answer?.error?.includes(error) === true
}

const failures = cases.filter((example) => !isRight(example, call(example)))
for (const [, name, input] of failures) console.log(`wrong: ${name}(${JSON.stringify(input).slice(1, -1)})`)
process.exitCode = failures.length === 0 ? 0 : 1
