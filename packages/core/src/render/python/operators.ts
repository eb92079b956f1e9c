import { escapeHtml } from './markup.ts'
import { type ArithmeticOperator, arithmetic, compareNumbers, isNumber, signed, toIndex } from './numbers.ts'
import { formatPercent } from './percent-format.ts'
import { indexError, keyError, PythonError, typeError } from './python-error.ts'
import { repr, typeName } from './represent.ts'
import {
  characters,
  codePointLength,
  compareText,
  cut,
  hasSurrogates,
  isMarkup,
  isStr,
  joinAll,
  textOf,
  toMarkup,
  unitIndex,
} from './text.ts'
import {
  Dict,
  Float,
  type KeywordArguments,
  PythonObject,
  type Str,
  Text,
  Tuple,
  Undefined,
  type Value,
} from './values.ts'

/** Python's operators and protocols on values: truth, length, iteration, comparison, arithmetic, subscripts. */

/** The error that a use of an undefined value raises. */
export function undefinedError(value: Undefined): PythonError {
  return new PythonError(value.errorType, value.message)
}

/** `bool(value)`. */
export function isTrue(value: Value): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string') return value !== ''
  if (value === null) return false
  if (typeof value === 'number') return value !== 0
  if (typeof value === 'bigint') return value !== 0n
  if (value instanceof Text) return value.text !== ''
  if (value instanceof Float) return value.value !== 0
  if (Array.isArray(value)) return value.length > 0
  if (value instanceof Tuple) return value.items.length > 0
  if (value instanceof Dict) return value.size > 0
  if (value instanceof Undefined) return false
  return value.length === undefined || value.length() !== 0
}

/** `len(value)`. */
export function length(value: Value): number {
  if (isStr(value)) return codePointLength(textOf(value))
  if (Array.isArray(value)) return value.length
  if (value instanceof Tuple) return value.items.length
  if (value instanceof Dict) return value.size
  if (value instanceof Undefined) return 0
  if (value instanceof PythonObject && value.length !== undefined) return value.length()
  throw typeError(`object of type '${typeName(value)}' has no len()`)
}

/** `iter(value)`; null where Python raises TypeError. */
export function tryIterate(value: Value): Iterator<Value> | null {
  if (Array.isArray(value)) return value.values()
  if (isStr(value)) return characters(value).values()
  if (value instanceof Tuple) return value.items.values()
  if (value instanceof Dict) return value.keys()
  if (value instanceof Undefined) return [].values()
  if (value instanceof PythonObject && value.iterate !== undefined) return value.iterate()
  return null
}

/** `iter(value)`. */
export function iterate(value: Value): Iterator<Value> {
  const iterator = tryIterate(value)
  if (iterator === null) throw typeError(`'${typeName(value)}' object is not iterable`)
  return iterator
}

/** `list(value)`, always a new list. */
export function toList(value: Value): Value[] {
  if (Array.isArray(value)) return value.slice()
  const iterator = iterate(value)
  const items: Value[] = []
  for (let step = iterator.next(); step.done !== true; step = iterator.next()) items.push(step.value)
  return items
}

/** `left == right`. */
export function equals(left: Value, right: Value): boolean {
  if (left === right) return true
  if (isStr(left)) return isStr(right) && textOf(left) === textOf(right)
  if (isStr(right) || left === null || right === null) return false
  const numbers = compareNumbers(left, right)
  if (numbers !== null) return numbers === 0
  if (Array.isArray(left)) return Array.isArray(right) && equalItems(left, right)
  if (left instanceof Tuple) return right instanceof Tuple && equalItems(left.items, right.items)
  if (left instanceof Dict) return right instanceof Dict && equalDicts(left, right)
  if (left instanceof Undefined) return right instanceof Undefined
  return left instanceof PythonObject && right instanceof PythonObject && (left.equals?.(right) ?? false)
}

function equalItems(left: readonly Value[], right: readonly Value[]): boolean {
  return left.length === right.length && left.every((item, index) => equals(item, right[index] ?? null))
}

function equalDicts(left: Dict, right: Dict): boolean {
  if (left.size !== right.size) return false
  for (const { key, value } of left.entries()) {
    const other = right.get(key)
    if (other === undefined || !equals(value, other)) return false
  }
  return true
}

export type OrderOperator = '<' | '<=' | '>' | '>='

/** `left < right` and its three siblings. */
export function order(operator: OrderOperator, left: Value, right: Value): boolean {
  if (left instanceof Undefined) throw undefinedError(left)
  if (right instanceof Undefined) throw undefinedError(right)
  const numbers = compareNumbers(left, right)
  if (numbers !== null) return decide(operator, numbers)
  if (isStr(left) && isStr(right)) return decide(operator, compareText(textOf(left), textOf(right)))
  if (Array.isArray(left) && Array.isArray(right)) return orderItems(operator, left, right)
  if (left instanceof Tuple && right instanceof Tuple) return orderItems(operator, left.items, right.items)
  throw typeError(`'${operator}' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`)
}

function decide(operator: OrderOperator, difference: number): boolean {
  switch (operator) {
    case '<':
      return difference < 0
    case '<=':
      return difference <= 0
    case '>':
      return difference > 0
    default:
      return difference >= 0
  }
}

function orderItems(operator: OrderOperator, left: readonly Value[], right: readonly Value[]): boolean {
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const a = left[index] ?? null
    const b = right[index] ?? null
    if (!equals(a, b)) return order(operator, a, b)
  }
  return decide(operator, left.length - right.length)
}

/** `sorted(items, key=…, reverse=…)`: stable in both directions, by `<` alone. */
export function sorted(items: readonly Value[], key: (item: Value) => Value, isReversed: boolean): Value[] {
  const decorated = items.map((item) => ({ item, key: key(item) }))
  const direction = isReversed ? -1 : 1
  decorated.sort((a, b) => {
    if (order('<', a.key, b.key)) return -direction
    return order('<', b.key, a.key) ? direction : 0
  })
  return decorated.map(({ item }) => item)
}

/** `needle in haystack`. */
export function contains(haystack: Value, needle: Value): boolean {
  if (isStr(haystack)) {
    if (!isStr(needle)) {
      throw typeError(`'in <string>' requires string as left operand, not ${typeName(needle)}`)
    }
    return textOf(haystack).includes(textOf(needle))
  }
  if (haystack instanceof Dict) return haystack.has(needle)
  if (haystack instanceof PythonObject && haystack.contains !== undefined) return haystack.contains(needle)
  const iterator = tryIterate(haystack)
  if (iterator === null) throw typeError(`argument of type '${typeName(haystack)}' is not iterable`)
  for (let step = iterator.next(); step.done !== true; step = iterator.next()) {
    if (equals(step.value, needle)) return true
  }
  return false
}

/** `left OPERATOR right`. */
export function binary(operator: ArithmeticOperator, left: Value, right: Value): Value {
  const numbers = arithmetic(operator, left, right)
  if (numbers !== null) return numbers
  if (operator === '%' && isStr(left)) return formatPercent(left, right)
  if (left instanceof Undefined) throw undefinedError(left)
  if (right instanceof Undefined) throw undefinedError(right)
  if (operator === '+') return add(left, right)
  if (operator === '*') return multiply(left, right)
  throw unsupportedOperands(operator, left, right)
}

function unsupportedOperands(operator: string, left: Value, right: Value): PythonError {
  const shown = operator === '**' ? '** or pow()' : operator
  return typeError(`unsupported operand type(s) for ${shown}: '${typeName(left)}' and '${typeName(right)}'`)
}

function add(left: Value, right: Value): Value {
  if (isStr(left)) {
    if (!isStr(right)) throw typeError(`can only concatenate str (not "${typeName(right)}") to str`)
    if (typeof left === 'string' && typeof right === 'string') return left + right
    return isMarkup(left) || isMarkup(right)
      ? toMarkup(joinAll([escapeHtml(left), escapeHtml(right)]))
      : joinAll([left, right])
  }
  if (Array.isArray(left)) {
    if (!Array.isArray(right)) throw typeError(`can only concatenate list (not "${typeName(right)}") to list`)
    return [...left, ...right]
  }
  if (left instanceof Tuple && right instanceof Tuple) return new Tuple([...left.items, ...right.items])
  throw unsupportedOperands('+', left, right)
}

const maxRepeatedLength = 100_000_000
const maxRepeatedItems = 10_000_000

function multiply(left: Value, right: Value): Value {
  const [sequence, count] = isNumber(left) ? [right, left] : [left, right]
  if (count instanceof Float || !isNumber(count)) throw unsupportedOperands('*', left, right)
  const times = Math.max(0, toIndex(count))
  if (isStr(sequence)) {
    const repeated = repeatStr(sequence, times)
    return isMarkup(sequence) ? toMarkup(repeated) : repeated
  }
  if (Array.isArray(sequence)) return repeatItems(sequence, times)
  if (sequence instanceof Tuple) return new Tuple(repeatItems(sequence.items, times))
  throw unsupportedOperands('*', left, right)
}

/** `text * times`. Throws MemoryError beyond 100 million characters. */
export function repeatStr(text: Str, times: number): Str {
  if (textOf(text).length * times > maxRepeatedLength) throw new PythonError('MemoryError', 'repeated text is too long')
  return typeof text === 'string' ? text.repeat(times) : joinAll(Array.from({ length: times }, () => text))
}

function repeatItems(items: readonly Value[], times: number): Value[] {
  if (items.length * times > maxRepeatedItems) throw new PythonError('MemoryError', 'repeated list is too long')
  return Array.from({ length: times }, () => items).flat()
}

/** `-value` and `+value`. */
export function unary(operator: '+' | '-', value: Value): Value {
  const result = signed(operator, value)
  if (result !== null) return result
  if (value instanceof Undefined) throw undefinedError(value)
  throw typeError(`bad operand type for unary ${operator}: '${typeName(value)}'`)
}

/** `object[key]`. Throws TypeError, KeyError, IndexError or UndefinedError as Python does. */
export function item(object: Value, key: Value): Value {
  if (object instanceof Undefined) throw undefinedError(object)
  if (object instanceof Dict) {
    const found = object.get(key)
    if (found === undefined) throw keyError(textOf(repr(key)))
    return found
  }
  if (isStr(object)) return characterAt(object, toIndex(key, `string indices must be integers, not '${typeName(key)}'`))
  if (Array.isArray(object) || object instanceof Tuple) {
    const items = Array.isArray(object) ? object : object.items
    const index = toIndex(key, `${typeName(object)} indices must be integers or slices, not ${typeName(key)}`)
    const found = items[index < 0 ? index + items.length : index]
    if (found === undefined) throw indexError(`${typeName(object)} index out of range`)
    return found
  }
  if (object instanceof PythonObject && object.item !== undefined) return object.item(key)
  throw typeError(`'${typeName(object)}' object is not subscriptable`)
}

function characterAt(text: Str, index: number): Str {
  const plain = textOf(text)
  const size = codePointLength(plain)
  const position = index < 0 ? index + size : index
  if (position < 0 || position >= size) throw indexError('string index out of range')
  return cut(text, unitIndex(plain, position), unitIndex(plain, position + 1))
}

/** `object[start:stop:step]`. */
export function slice(object: Value, start: Value, stop: Value, step: Value): Value {
  if (object instanceof Undefined) throw undefinedError(object)
  if (isStr(object)) return sliceText(object, start, stop, step)
  if (Array.isArray(object)) return pick(object, sliceIndices(object.length, start, stop, step))
  if (object instanceof Tuple)
    return new Tuple(pick(object.items, sliceIndices(object.items.length, start, stop, step)))
  if (object instanceof PythonObject && object.slice !== undefined) return object.slice(start, stop, step)
  throw typeError(
    object instanceof Dict ? "unhashable type: 'slice'" : `'${typeName(object)}' object is not subscriptable`,
  )
}

function sliceText(text: Str, start: Value, stop: Value, step: Value): Str {
  const plain = textOf(text)
  const bounds = sliceBounds(codePointLength(plain), start, stop, step)
  if (bounds.step === 1) {
    const from = unitIndex(plain, bounds.start)
    return cut(text, from, Math.max(from, unitIndex(plain, bounds.stop)))
  }
  if (typeof text === 'string' && !hasSurrogates(text)) {
    let result = ''
    for (const index of indicesOf(bounds)) result += text[index] ?? ''
    return result
  }
  const all = characters(text)
  const joined = joinAll(indicesOf(bounds).map((index) => all[index] ?? ''))
  return isMarkup(text) ? toMarkup(joined) : joined
}

interface SliceBounds {
  readonly start: number
  readonly stop: number
  readonly step: number
}

/** `slice(start, stop, step).indices(size)`. */
export function sliceBounds(size: number, start: Value, stop: Value, step: Value): SliceBounds {
  const what = 'slice indices must be integers or None or have an __index__ method'
  const by = step === null ? 1 : toIndex(step, what)
  if (by === 0) throw new PythonError('ValueError', 'slice step cannot be zero')
  const lowest = by < 0 ? -1 : 0
  const highest = by < 0 ? size - 1 : size
  const clamp = (value: Value, fallback: number): number => {
    if (value === null) return fallback
    const index = toIndex(value, what)
    return Math.min(Math.max(index < 0 ? index + size : index, lowest), highest)
  }
  return { start: clamp(start, by < 0 ? highest : lowest), stop: clamp(stop, by < 0 ? lowest : highest), step: by }
}

function indicesOf({ start, stop, step }: SliceBounds): number[] {
  const indices: number[] = []
  for (let index = start; step > 0 ? index < stop : index > stop; index += step) indices.push(index)
  return indices
}

function sliceIndices(size: number, start: Value, stop: Value, step: Value): number[] {
  return indicesOf(sliceBounds(size, start, stop, step))
}

function pick(items: readonly Value[], indices: readonly number[]): Value[] {
  return indices.map((index) => items[index] ?? null)
}

/** `callee(*positional, **keywords)`. */
export function call(callee: Value, positional: readonly Value[], keywords: KeywordArguments): Value {
  if (callee instanceof PythonObject && callee.call !== undefined) return callee.call(positional, keywords)
  if (callee instanceof Undefined) throw undefinedError(callee)
  throw typeError(`'${typeName(callee)}' object is not callable`)
}
