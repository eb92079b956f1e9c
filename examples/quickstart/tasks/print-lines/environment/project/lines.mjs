import { readFileSync } from 'node:fs'

const [file, from, to] = process.argv.slice(2)
const lines = readFileSync(file, 'utf8').split('\n')

for (const [index, line] of lines.slice(from, to).entries()) {
  console.log(`${index + 1}: ${line}`)
}
