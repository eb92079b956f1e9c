import { getAttributeOnly, getItem, reversedIterator } from '../python/attributes.ts'
import {
  asDouble,
  asInteger,
  isNumber,
  roundFloat,
  roundInteger,
  signed,
  toIndex,
  truncate,
} from '../python/numbers.ts'
import {
  binary,
  equals,
  isTrue,
  iterate,
  length,
  order,
  slice,
  sorted,
  toList,
  undefinedError,
} from '../python/operators.ts'
import { parseFloatText, parseInteger } from '../python/parse-number.ts'
import {
  filterArgumentError,
  PythonError,
  templateRuntimeError,
  typeError,
  unsupported,
} from '../python/python-error.ts'
import { repr, str, typeName } from '../python/represent.ts'
import { isStr, joinAll, textOf } from '../python/text.ts'
import {
  Dict,
  Float,
  hashKey,
  type KeywordArguments,
  PythonIterator,
  type Str,
  Tuple,
  Undefined,
  type Value,
} from '../python/values.ts'
import { type FilterFunction, filter } from './filter-signature.ts'
import { tests } from './tests.ts'
import { textFilters } from './text-filters.ts'

/**
 * Jinja's filters on numbers, lists and dicts. Those that Python writes as
 * generators are lazy here too: an error inside shows only when something reads
 * them, and they can be read once.
 */

type Getter = (item: Value) => Value

/** `make_attrgetter`: `a.b.0` reads step by step; undefined steps become `fallback` where there is one. */
function attributeGetter(attribute: Value, fallback: Value, finish: Getter = (it) => it): Getter {
  const path = attributePath(attribute)
  return (item) => {
    let value = item
    for (const step of path) {
      value = getItem(value, step)
      if (fallback !== null && value instanceof Undefined) value = fallback
    }
    return finish(value)
  }
}

function attributePath(attribute: Value): Value[] {
  if (attribute === null) return []
  if (!isStr(attribute)) return [attribute]
  return textOf(attribute)
    .split('.')
    .map((step) => (/^\p{Nd}+$/u.test(step) ? Number(step) : step))
}

function lowerCase(value: Value): Value {
  return isStr(value) ? textOf(value).toLowerCase() : value
}

function caseFinish(isCaseSensitive: Value | undefined): Getter {
  return isTrue(isCaseSensitive ?? false) ? (value) => value : lowerCase
}

/** `attribute="a,b"` sorts by several: the key is a list. */
function sortKey(attribute: Value | undefined, finish: Getter): Getter {
  const parts = attribute !== undefined && isStr(attribute) ? textOf(attribute).split(',') : [attribute ?? null]
  const getters = parts.map((part) => attributeGetter(part, null, finish))
  return (item) => getters.map((getter) => getter(item))
}

/** A flag that Python reads as an integer. */
function asFlag(value: Value = false): boolean {
  return toIndex(value, `'${typeName(value)}' object cannot be interpreted as an integer`) !== 0
}

function lazily(items: () => Iterator<Value>): Value {
  return new PythonIterator(items())
}

function* items(value: Value): IterableIterator<Value> {
  const iterator = iterate(value)
  for (let step = iterator.next(); step.done !== true; step = iterator.next()) yield step.value
}

function first(value: Value): Value {
  const step = iterate(value).next()
  return step.done === true ? new Undefined(() => 'No first item, sequence was empty.') : step.value
}

function last(value: Value): Value {
  const iterator = reversedIterator(value)
  if (iterator === null) throw typeError(`'${typeName(value)}' object is not reversible`)
  const step = iterator.iterate().next()
  return step.done === true ? new Undefined(() => 'No last item, sequence was empty.') : step.value
}

function reverse(value: Value): Value {
  if (isStr(value)) return slice(value, null, null, -1)
  const iterator = reversedIterator(value)
  if (iterator !== null) return iterator
  try {
    return toList(value).reverse()
  } catch (error) {
    if (error instanceof PythonError && error.pythonType === 'TypeError') {
      throw filterArgumentError('argument must be iterable')
    }
    throw error
  }
}

function join(value: Value, separator: Value = '', attribute: Value = null): Str {
  const getter = attribute === null ? null : attributeGetter(attribute, null)
  const mark = str(separator)
  const parts: Str[] = []
  for (const item of items(value)) {
    if (parts.length > 0) parts.push(mark)
    parts.push(str(getter === null ? item : getter(item)))
  }
  return joinAll(parts)
}

function extreme(
  value: Value,
  isCaseSensitive: Value | undefined,
  attribute: Value | undefined,
  operator: '<' | '>',
): Value {
  const key = attributeGetter(attribute ?? null, null, caseFinish(isCaseSensitive))
  let best: { item: Value; key: Value } | null = null
  for (const item of items(value)) {
    const candidate = { item, key: key(item) }
    if (best === null || order(operator, candidate.key, best.key)) best = candidate
  }
  return best === null ? new Undefined(() => 'No aggregated item, sequence was empty.') : best.item
}

function sum(value: Value, attribute: Value = null, start: Value = 0): Value {
  const getter = attribute === null ? null : attributeGetter(attribute, null)
  let total = start
  if (isStr(total)) throw typeError("sum() can't sum strings [use ''.join(seq) instead]")
  for (const item of items(value)) total = binary('+', total, getter === null ? item : getter(item))
  return total
}

function round(value: Value, digits: Value = 0, method: Value = 'common'): Value {
  const way = textOf(str(method))
  if (!['common', 'ceil', 'floor'].includes(way)) throw filterArgumentError('method must be common, ceil or floor')
  if (way === 'common') return roundCommon(value, digits)
  const scale = binary('**', 10, digits)
  const scaled = asDouble(binary('*', value, scale))
  if (scaled === null) throw typeError(`must be real number, not ${typeName(value)}`)
  const whole = truncate(way === 'ceil' ? Math.ceil(scaled) : Math.floor(scaled))
  return binary('/', whole, scale)
}

function roundCommon(value: Value, digits: Value): Value {
  const whole = asInteger(value)
  if (whole !== null) return digits === null ? whole : roundInteger(whole, toIndex(digits))
  if (!(value instanceof Float)) {
    if (value instanceof Undefined) throw typeError("type Undefined doesn't define __round__ method")
    throw typeError(`type ${typeName(value)} doesn't define __round__ method`)
  }
  if (digits === null) return truncate(roundFloat(value.value, 0))
  return new Float(roundFloat(value.value, toIndex(digits)))
}

function absolute(value: Value): Value {
  if (!isNumber(value)) throw typeError(`bad operand type for abs(): '${typeName(value)}'`)
  if (value instanceof Float) return new Float(Math.abs(value.value))
  return order('<', value, 0) ? (signed('-', value) ?? value) : (signed('+', value) ?? value)
}

function isConversionFailure(error: unknown, ...names: readonly string[]): boolean {
  return error instanceof PythonError && names.includes(error.pythonType)
}

/** `int(value)` for everything but text. */
function wholeNumber(value: Value): Value {
  const whole = asInteger(value)
  if (whole !== null) return whole
  if (value instanceof Float) return truncate(value.value)
  if (value instanceof Undefined) throw undefinedError(value)
  throw typeError(`int() argument must be a string, a bytes-like object or a real number, not '${typeName(value)}'`)
}

function floatNumber(value: Value): number {
  if (isStr(value)) return parseFloatText(textOf(value))
  const number = asDouble(value)
  if (number !== null) return number
  if (value instanceof Undefined) throw undefinedError(value)
  throw typeError(`float() argument must be a string or a real number, not '${typeName(value)}'`)
}

function toInt(value: Value, fallback: Value = 0, base: Value = 10): Value {
  try {
    return isStr(value) ? parseInteger(textOf(value), toIndex(base)) : wholeNumber(value)
  } catch (error) {
    if (!isConversionFailure(error, 'TypeError', 'ValueError')) throw error
  }
  try {
    return truncate(floatNumber(value))
  } catch (error) {
    if (!isConversionFailure(error, 'TypeError', 'ValueError', 'OverflowError')) throw error
    return fallback
  }
}

function toFloat(value: Value, fallback: Value = new Float(0)): Value {
  try {
    return new Float(floatNumber(value))
  } catch (error) {
    if (!isConversionFailure(error, 'TypeError', 'ValueError')) throw error
    return fallback
  }
}

function dictSort(
  value: Value,
  isCaseSensitive: Value | undefined,
  by: Value | undefined,
  isReversed: Value | undefined,
): Value {
  const wanted = by === undefined ? 'key' : by
  const position = wanted === 'key' ? 0 : wanted === 'value' ? 1 : null
  if (position === null) throw filterArgumentError('You can only sort by either "key" or "value"')
  if (!(value instanceof Dict)) {
    if (value instanceof Undefined) throw undefinedError(value)
    throw new PythonError('AttributeError', `'${typeName(value)}' object has no attribute 'items'`)
  }
  const finish = caseFinish(isCaseSensitive)
  const pairs = [...value.entries()].map((entry) => new Tuple([entry.key, entry.value]))
  return sorted(
    pairs,
    (pair) => finish(pair instanceof Tuple ? (pair.items[position] ?? null) : null),
    asFlag(isReversed),
  )
}

function* unique(value: Value, key: Getter): IterableIterator<Value> {
  const seen = new Set<unknown>()
  for (const item of items(value)) {
    const hashed = hashKey(key(item))
    if (seen.has(hashed)) continue
    seen.add(hashed)
    yield item
  }
}

function groupBy(value: Value, attribute: Value, fallback: Value, isCaseSensitive: boolean): Value {
  const key = attributeGetter(attribute, fallback, isCaseSensitive ? (it) => it : lowerCase)
  const ordered = sorted(toList(value), key, false)
  const groups: { key: Value; members: Value[] }[] = []
  for (const item of ordered) {
    const current = groups.at(-1)
    const itemKey = key(item)
    if (current !== undefined && !order('<', current.key, itemKey)) current.members.push(item)
    else groups.push({ key: itemKey, members: [item] })
  }
  const shown = attributeGetter(attribute, fallback)
  return groups.map(({ key: grouper, members }) => {
    const label = isCaseSensitive ? grouper : shown(members[0] ?? null)
    return new Tuple([label, members], ['grouper', 'list'])
  })
}

function* batches(value: Value, lineCount: Value, fill: Value): IterableIterator<Value> {
  let batch: Value[] = []
  for (const item of items(value)) {
    if (equals(batch.length, lineCount)) {
      yield batch
      batch = []
    }
    batch.push(item)
  }
  if (batch.length === 0) return
  if (fill !== null && order('<', batch.length, lineCount)) {
    const missing = toIndex(binary('-', lineCount, batch.length))
    batch.push(...Array.from({ length: missing }, () => fill))
  }
  yield batch
}

function* slices(value: Value, sliceCount: Value, fill: Value): IterableIterator<Value> {
  const all = toList(value)
  const count = toIndex(sliceCount, `'${typeName(sliceCount)}' object cannot be interpreted as an integer`)
  if (count === 0) throw new PythonError('ZeroDivisionError', 'integer division or modulo by zero')
  const size = Math.floor(all.length / count)
  const extra = all.length % count
  let offset = 0
  for (let index = 0; index < count; index += 1) {
    const start = offset + index * size
    if (index < extra) offset += 1
    const part = all.slice(start, offset + (index + 1) * size)
    if (fill !== null && index >= extra) part.push(fill)
    yield part
  }
}

/** `prepare_map`. */
function mapping(positional: readonly Value[], keywords: KeywordArguments): Getter {
  const attribute = keywords.get('attribute')
  if (positional.length === 0 && attribute !== undefined) {
    for (const key of keywords.keys()) {
      if (!equals(key, 'attribute') && !equals(key, 'default')) {
        throw filterArgumentError(`Unexpected keyword argument ${textOf(repr(key))}`)
      }
    }
    return attributeGetter(attribute, keywords.get('default') ?? null)
  }
  const [name, ...rest] = positional
  if (name === undefined) throw filterArgumentError('map requires a filter argument')
  return (item) => namedFilter(name)([item, ...rest], keywords)
}

function namedFilter(name: Value): FilterFunction {
  const found = isStr(name) ? filters.get(textOf(name)) : undefined
  if (found === undefined) throw templateRuntimeError(`No filter named ${textOf(str(name))}.`)
  return found
}

function* mapped(value: Value, positional: readonly Value[], keywords: KeywordArguments): IterableIterator<Value> {
  if (!isTrue(value)) return
  const apply = mapping(positional, keywords)
  for (const item of items(value)) yield apply(item)
}

function* selected(
  value: Value,
  positional: readonly Value[],
  keywords: KeywordArguments,
  options: { readonly isRejecting: boolean; readonly byAttribute: boolean },
): IterableIterator<Value> {
  if (!isTrue(value)) return
  const rest = positional.slice()
  let getter: Getter = (item) => item
  if (options.byAttribute) {
    const attribute = rest.shift()
    if (attribute === undefined) throw filterArgumentError('Missing parameter for attribute name')
    getter = attributeGetter(attribute, null)
  }
  const name = rest.shift()
  for (const item of items(value)) {
    const isChosen = name === undefined ? isTrue(getter(item)) : namedTest(name, [getter(item), ...rest], keywords)
    if (isChosen !== options.isRejecting) yield item
  }
}

function namedTest(name: Value, positional: readonly Value[], keywords: KeywordArguments): boolean {
  const found = isStr(name) ? tests.get(textOf(name)) : undefined
  if (found === undefined) throw templateRuntimeError(`No test named ${textOf(str(name))}.`)
  return found(positional, keywords)
}

function selection(
  name: string,
  options: { readonly isRejecting: boolean; readonly byAttribute: boolean },
): [string, FilterFunction] {
  return [
    name,
    ([value, ...positional], keywords) => {
      if (value === undefined) throw typeError(`${name}() missing 1 required positional argument: 'value'`)
      return lazily(() => selected(value, positional, keywords, options))
    },
  ]
}

function* mappingItems(value: Value): IterableIterator<Value> {
  if (value instanceof Undefined) return
  if (!(value instanceof Dict)) throw typeError('Can only get item pairs from a mapping.')
  for (const entry of value.entries()) yield new Tuple([entry.key, entry.value])
}

const isMissing = (value: Value, boolean: Value): boolean =>
  value instanceof Undefined || (isTrue(boolean) && !isTrue(value))
const withDefault = (value: Value, fallback: Value = '', boolean: Value = false): Value =>
  isMissing(value, boolean) ? fallback : value

/** All filters, by name. */
export const filters: ReadonlyMap<string, FilterFunction> = new Map<string, FilterFunction>([
  ...textFilters,
  filter('default', ['value', 'default_value?', 'boolean?'], withDefault),
  filter('d', ['value', 'default_value?', 'boolean?'], withDefault),
  filter('length', ['/', 'obj'], length),
  filter('count', ['/', 'obj'], length),
  filter('first', ['seq'], first),
  filter('last', ['seq'], last),
  filter('list', ['value'], toList),
  filter('reverse', ['value'], reverse),
  filter('join', ['value', 'd?', 'attribute?'], join),
  filter('items', ['value'], (value) => lazily(() => mappingItems(value))),
  filter('dictsort', ['value', 'case_sensitive?', 'by?', 'reverse?'], dictSort),
  filter(
    'sort',
    ['value', 'reverse?', 'case_sensitive?', 'attribute?'],
    (value, isReversed, isCaseSensitive, attribute) =>
      sorted(toList(value), sortKey(attribute, caseFinish(isCaseSensitive)), asFlag(isReversed)),
  ),
  filter('unique', ['value', 'case_sensitive?', 'attribute?'], (value, isCaseSensitive, attribute) =>
    lazily(() => unique(value, attributeGetter(attribute ?? null, null, caseFinish(isCaseSensitive)))),
  ),
  filter(
    'groupby',
    ['value', 'attribute', 'default?', 'case_sensitive?'],
    (value, attribute, fallback, isCaseSensitive) =>
      groupBy(value, attribute ?? null, fallback ?? null, isTrue(isCaseSensitive ?? false)),
  ),
  filter('min', ['value', 'case_sensitive?', 'attribute?'], (value, isCaseSensitive, attribute) =>
    extreme(value, isCaseSensitive, attribute, '<'),
  ),
  filter('max', ['value', 'case_sensitive?', 'attribute?'], (value, isCaseSensitive, attribute) =>
    extreme(value, isCaseSensitive, attribute, '>'),
  ),
  filter('sum', ['iterable', 'attribute?', 'start?'], sum),
  filter('abs', ['/', 'x'], absolute),
  filter('round', ['value', 'precision?', 'method?'], round),
  filter('int', ['value', 'default?', 'base?'], toInt),
  filter('float', ['value', 'default?'], toFloat),
  filter('attr', ['obj', 'name'], (value, name = null) => {
    if (!isStr(name)) throw typeError(`attribute name must be string, not '${typeName(name)}'`)
    return getAttributeOnly(value, textOf(name))
  }),
  filter('batch', ['value', 'linecount', 'fill_with?'], (value, size, fill) =>
    lazily(() => batches(value, size ?? null, fill ?? null)),
  ),
  filter('slice', ['value', 'slices', 'fill_with?'], (value, count, fill) =>
    lazily(() => slices(value, count ?? null, fill ?? null)),
  ),
  filter('random', ['seq'], () => {
    throw unsupported('The filter random')
  }),
  [
    'map',
    ([value, ...positional], keywords) => {
      if (value === undefined) throw typeError("map() missing 1 required positional argument: 'value'")
      return lazily(() => mapped(value, positional, keywords))
    },
  ],
  selection('select', { isRejecting: false, byAttribute: false }),
  selection('reject', { isRejecting: true, byAttribute: false }),
  selection('selectattr', { isRejecting: false, byAttribute: true }),
  selection('rejectattr', { isRejecting: true, byAttribute: true }),
])
