import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

/**
 * Examples in doc comments, to be run as tests. An example is one expression
 * and what it gives, after an arrow; other comment lines say more:
 *
 *     @example
 *     passAtK(4, 2, 2) // → 5 / 6
 *     // of six pairs, one holds no correct attempt
 *
 * `expected` is an expression too. Numbers that are not integers agree to
 * twelve decimals.
 */
export interface DocExample {
  /** The function that the comment stands before. */
  readonly name: string
  readonly code: string
  readonly expected: string
}

const documented = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export (?:function\*?|const) (\w+)/g

/** The examples of all sources of a package, in order. Throws for one without an arrow. */
export function readDocExamples(packageName: string): DocExample[] {
  const folder = fileURLToPath(new URL(`../packages/${packageName}/src/`, import.meta.url))
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => examplesOf(readFileSync(`${folder}${file}`, 'utf8')))
}

function examplesOf(source: string): DocExample[] {
  return [...source.matchAll(documented)].flatMap(([, comment = '', name = '']) => {
    const text = comment.replaceAll(/^[ \t]*\* ?/gm, '')
    return text
      .split('@example')
      .slice(1)
      .map((example) => readExample(name, example))
  })
}

function readExample(name: string, example: string): DocExample {
  const [before = '', after] = example.split('// →')
  if (after === undefined) throw new Error(`The example of ${name} has no "// →"`)
  const code = before.trim()
  const expected = after.split('\n')[0] ?? ''
  return { name, code, expected: expected.trim() }
}

/** Runs an example with a package's exports in scope, and compares. */
export function expectExample(example: DocExample, exports: Readonly<Record<string, unknown>>): void {
  const scope = Object.keys(exports)
  const evaluate = (text: string): unknown => new Function(...scope, `return (${text})`)(...Object.values(exports))
  expect(evaluate(example.code)).toEqual(nearly(evaluate(example.expected)))
}

/** The exported functions that have no example. */
export function withoutExample(examples: readonly DocExample[], exports: Readonly<Record<string, unknown>>): string[] {
  const shown = new Set(examples.map(({ name }) => name))
  return Object.keys(exports).filter((name) => typeof exports[name] === 'function' && !shown.has(name))
}

function nearly(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isInteger(value) && Number.isFinite(value)) return expect.closeTo(value, 12)
  if (Array.isArray(value)) return value.map(nearly)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, nearly(entry)]))
}
