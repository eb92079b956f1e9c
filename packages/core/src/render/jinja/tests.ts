import { bind, signature } from '../python/arguments.ts'
import { isNumber } from '../python/numbers.ts'
import { binary, contains, equals, length, order, tryIterate } from '../python/operators.ts'
import { PythonError } from '../python/python-error.ts'
import { str } from '../python/represent.ts'
import { hasOnlyCase } from '../python/string-methods.ts'
import { isMarkup, isStr, textOf } from '../python/text.ts'
import {
  Dict,
  Float,
  hashKey,
  type KeywordArguments,
  PythonObject,
  Text,
  Undefined,
  type Value,
} from '../python/values.ts'
import { filterNames } from './filter-names.ts'

/** Jinja's tests: what stands after `is`. */
export type TestFunction = (positional: readonly Value[], keywords: KeywordArguments) => boolean

function test(
  parameters: readonly string[],
  decide: (value: Value, ...others: Value[]) => boolean,
  ...names: readonly string[]
): [string, TestFunction][] {
  const declared = signature(names[0] ?? '', ...parameters)
  const run: TestFunction = (positional, keywords) => {
    const [value = null, ...others] = bind(declared, positional, keywords)
    return decide(value, ...others.map((other) => other ?? null))
  }
  return names.map((name) => [name, run])
}

const one = ['value']
const operands = ['/', 'a', 'b']
const hasRemainder = (value: Value, divisor: Value, wanted: number): boolean =>
  equals(binary('%', value, divisor), wanted)

function isSequence(value: Value): boolean {
  try {
    length(value)
  } catch (error) {
    if (error instanceof PythonError) return false
    throw error
  }
  return !(value instanceof PythonObject) || value.item !== undefined
}

/** `a is b`: identity; strings and numbers of the same value are taken to be the same object. */
function isSame(a: Value, b: Value): boolean {
  if (a instanceof Text || b instanceof Text) return isStr(a) && isStr(b) && textOf(a) === textOf(b)
  return a === b
}

/** Undefined has a `__call__`, which fails. */
const isCallable = (value: Value): boolean =>
  value instanceof Undefined || (value instanceof PythonObject && value.call !== undefined)
/** A dict lookup in Python: a value that can't be hashed is an error. */
function isNameIn(names: { has(name: string): boolean }, value: Value): boolean {
  hashKey(value)
  return isStr(value) && names.has(textOf(value))
}

const isWhole = (value: Value): boolean => typeof value === 'number' || typeof value === 'bigint'

/** By name. */
export const tests: ReadonlyMap<string, TestFunction> = new Map([
  ...test(one, (value) => hasRemainder(value, 2, 1), 'odd'),
  ...test(one, (value) => hasRemainder(value, 2, 0), 'even'),
  ...test(['value', 'num'], (value, divisor) => hasRemainder(value, divisor ?? null, 0), 'divisibleby'),
  ...test(one, (value) => !(value instanceof Undefined), 'defined'),
  ...test(one, (value) => value instanceof Undefined, 'undefined'),
  ...test(one, (value) => isNameIn(filterNames, value), 'filter'),
  ...test(one, (value) => isNameIn(tests, value), 'test'),
  ...test(one, (value) => value === null, 'none'),
  ...test(one, (value) => typeof value === 'boolean', 'boolean'),
  ...test(one, (value) => value === false, 'false'),
  ...test(one, (value) => value === true, 'true'),
  ...test(one, isWhole, 'integer'),
  ...test(one, (value) => value instanceof Float, 'float'),
  ...test(one, (value) => hasOnlyCase(textOf(str(value)), 'lower'), 'lower'),
  ...test(one, (value) => hasOnlyCase(textOf(str(value)), 'upper'), 'upper'),
  ...test(one, isStr, 'string'),
  ...test(one, (value) => value instanceof Dict, 'mapping'),
  ...test(one, isNumber, 'number'),
  ...test(one, isSequence, 'sequence'),
  ...test(one, (value) => tryIterate(value) !== null, 'iterable'),
  ...test(['/', 'value'], isCallable, 'callable'),
  ...test(['value', 'other'], (value, other) => isSame(value, other ?? null), 'sameas'),
  ...test(one, isMarkup, 'escaped'),
  ...test(['value', 'seq'], (value, sequence) => contains(sequence ?? null, value), 'in'),
  ...test(operands, (a, b) => equals(a, b ?? null), '==', 'eq', 'equalto'),
  ...test(operands, (a, b) => !equals(a, b ?? null), '!=', 'ne'),
  ...test(operands, (a, b) => order('>', a, b ?? null), '>', 'gt', 'greaterthan'),
  ...test(operands, (a, b) => order('>=', a, b ?? null), '>=', 'ge'),
  ...test(operands, (a, b) => order('<', a, b ?? null), '<', 'lt', 'lessthan'),
  ...test(operands, (a, b) => order('<=', a, b ?? null), '<=', 'le'),
])
