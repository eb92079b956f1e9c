import { asInteger, floatText, integerText, toIndex } from './numbers.ts'
import { sorted } from './operators.ts'
import { typeError, valueError } from './python-error.ts'
import { str, typeName } from './represent.ts'
import { isMarked, isStr, markWhole, textOf } from './text.ts'
import { Dict, Float, type Str, Tuple, type Value } from './values.ts'

/** Python's `json.dumps` with the options that transformers' `tojson` filter passes on. */
export interface JsonDumpsOptions {
  readonly ensureAscii: boolean
  /** One level of indentation; null writes everything on one line. */
  readonly indent: string | null
  readonly itemSeparator: string
  readonly keySeparator: string
  readonly sortKeys: boolean
}

/** Marked whole where any string inside is marked. Throws TypeError for what JSON can't hold. Linear. */
export function jsonDumps(value: Value, options: JsonDumpsOptions): Str {
  const writer = { options, isMarked: false, parts: [] }
  write(writer, value, '\n')
  const text = writer.parts.join('')
  return writer.isMarked ? markWhole(text) : text
}

interface Writer {
  readonly options: JsonDumpsOptions
  readonly parts: string[]
  isMarked: boolean
}

function write(writer: Writer, value: Value, newline: string): void {
  const { parts } = writer
  if (isStr(value)) {
    if (isMarked(value)) writer.isMarked = true
    parts.push(jsonString(textOf(value), writer.options.ensureAscii))
  } else if (value === null) parts.push('null')
  else if (typeof value === 'boolean') parts.push(value ? 'true' : 'false')
  else if (typeof value === 'number' || typeof value === 'bigint') parts.push(integerText(value))
  else if (value instanceof Float) parts.push(jsonFloat(value.value))
  else if (Array.isArray(value)) writeItems(writer, value, newline)
  else if (value instanceof Tuple) writeItems(writer, value.items, newline)
  else if (value instanceof Dict) writeDict(writer, value, newline)
  else throw typeError(`Object of type ${typeName(value)} is not JSON serializable`)
}

function writeItems(writer: Writer, items: readonly Value[], newline: string): void {
  const { parts, options } = writer
  if (items.length === 0) {
    parts.push('[]')
    return
  }
  const inner = options.indent === null ? '' : newline + options.indent
  let separator = `[${inner}`
  for (const item of items) {
    parts.push(separator)
    write(writer, item, inner)
    separator = options.itemSeparator + inner
  }
  parts.push(options.indent === null ? ']' : `${newline}]`)
}

function writeDict(writer: Writer, dict: Dict, newline: string): void {
  const { parts, options } = writer
  if (dict.size === 0) {
    parts.push('{}')
    return
  }
  const inner = options.indent === null ? '' : newline + options.indent
  let separator = `{${inner}`
  const writeEntry = (key: Value, value: Value): void => {
    parts.push(separator, jsonString(jsonKey(writer, key), options.ensureAscii), options.keySeparator)
    write(writer, value, inner)
    separator = options.itemSeparator + inner
  }
  if (options.sortKeys)
    for (const key of sorted([...dict.keys()], (it) => it, false)) writeEntry(key, dict.get(key) ?? null)
  else for (const { key, value } of dict.entries()) writeEntry(key, value)
  parts.push(options.indent === null ? '}' : `${newline}}`)
}

function jsonKey(writer: Writer, key: Value): string {
  if (isStr(key)) {
    if (isMarked(key)) writer.isMarked = true
    return textOf(key)
  }
  if (key === null) return 'null'
  if (typeof key === 'boolean') return key ? 'true' : 'false'
  if (key instanceof Float) return jsonFloat(key.value)
  if (asInteger(key) !== null) return textOf(str(key))
  throw typeError(`keys must be str, int, float, bool or None, not ${typeName(key)}`)
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? floatText(value) : value > 0 ? 'Infinity' : '-Infinity'
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
  '\b': '\\b',
}
const escapedAlways = /["\\\x00-\x1f]/
const escapedAlwaysAll = /["\\\x00-\x1f]/g
const escapedForAscii = /["\\]|[^ -~]/g

function jsonString(text: string, ensureAscii: boolean): string {
  if (ensureAscii) return `"${text.replace(escapedForAscii, escapeUnit)}"`
  return escapedAlways.test(text) ? `"${text.replace(escapedAlwaysAll, escapeUnit)}"` : `"${text}"`
}

function escapeUnit(unit: string): string {
  return shortEscapes[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The options that `tojson`'s arguments ask for. `separators` is any pair of strings. */
export function jsonDumpsOptions(
  ensureAscii: boolean,
  indent: Value,
  separators: readonly Value[] | null,
  sortKeys: boolean,
): JsonDumpsOptions {
  const pair = separators === null ? [indent === null ? ', ' : ',', ': '] : separators
  if (pair.length !== 2) throw valueError(`expected 2 separators, got ${pair.length}`)
  const [itemSeparator, keySeparator] = pair.map((separator) => {
    if (!isStr(separator ?? null)) throw typeError(`separators must be str, not ${typeName(separator ?? null)}`)
    return textOf(str(separator ?? null))
  })
  return {
    ensureAscii,
    indent: indent === null ? null : isStr(indent) ? textOf(indent) : ' '.repeat(Math.max(0, toIndex(indent))),
    itemSeparator: itemSeparator ?? ', ',
    keySeparator: keySeparator ?? ': ',
    sortKeys,
  }
}
