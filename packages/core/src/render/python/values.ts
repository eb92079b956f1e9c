import { typeError } from './python-error.ts'

/**
 * Python's values as this interpreter holds them.
 *
 *   None                     null
 *   bool                     boolean
 *   int                      number inside ±(2^53 - 1), never -0; bigint outside
 *   float                    Float: a number of its own class, so that 1.0 is not 1
 *   str                      string, or Text where characters carry an origin or the string is Markup
 *   list, tuple, dict        array, Tuple, Dict
 *   Jinja's Undefined        Undefined
 *   everything else          PythonObject: functions, iterators, views, ranges, loops, namespaces
 *
 * Strings are UTF-16 inside; whatever counts or indexes them counts code points,
 * as Python does. One difference stays: two lone surrogates that a template
 * joins become one character here and stay two in Python.
 */
export type Value = null | boolean | number | bigint | Float | Str | Value[] | Tuple | Dict | Undefined | PythonObject

/** A Python `str`. */
export type Str = string | Text

/** A Python `float`. */
export class Float {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/**
 * A `str` that knows more than its characters.
 *
 * `valueSpans` lists the characters that came in through a marked variable, as
 * `[start, end, start, end, …]` in UTF-16 units: sorted, disjoint, not touching.
 * All other characters were written by the template.
 */
export class Text {
  readonly text: string
  readonly valueSpans: readonly number[]
  /** Whether it is a `markupsafe.Markup`. */
  readonly isMarkup: boolean
  constructor(text: string, valueSpans: readonly number[], isMarkup: boolean) {
    this.text = text
    this.valueSpans = valueSpans
    this.isMarkup = isMarkup
  }
}

/** A Python `tuple`; with `fields`, a named tuple that prints like a plain one. */
export class Tuple {
  readonly items: readonly Value[]
  readonly fields: readonly string[]
  constructor(items: readonly Value[], fields: readonly string[] = []) {
    this.items = items
    this.fields = fields
  }
}

/** Jinja's `Undefined`: prints as nothing, is false, has length 0, and fails on most other uses. */
export class Undefined {
  private readonly describe: () => string
  readonly errorType: string
  /** `describe` gives the message of the error that a use of the value raises. */
  constructor(describe: () => string, errorType = 'UndefinedError') {
    this.describe = describe
    this.errorType = errorType
  }
  get message(): string {
    return this.describe()
  }
}

/** Keyword arguments in the order in which they were given: a dict whose keys are strings, so that names keep their marks. */
export type KeywordArguments = Dict

/**
 * A value with behaviour: each optional member says what Python's protocol of
 * that name would do; a member that is absent means that the type has none.
 */
export abstract class PythonObject {
  abstract readonly typeName: string
  /** `repr(object)`; `inner` represents the values that it holds. */
  abstract represent(inner: (value: Value) => string): string
  /** `getattr`; undefined where Python raises AttributeError. */
  attribute?(name: string): Value | undefined
  call?(positional: readonly Value[], keywords: KeywordArguments): Value
  iterate?(): Iterator<Value>
  length?(): number
  /** `object[key]`; throws PythonError where Python raises. */
  item?(key: Value): Value
  slice?(start: Value, stop: Value, step: Value): Value
  contains?(value: Value): boolean
  equals?(other: PythonObject): boolean
  /** `reversed(object)`. */
  reverse?(): Iterator<Value>
}

/** A function of Python's or of ours, called with positional and keyword arguments. */
export class BuiltinFunction extends PythonObject {
  readonly typeName: string
  readonly functionName: string
  private readonly implementation: (positional: readonly Value[], keywords: KeywordArguments) => Value

  constructor(
    functionName: string,
    implementation: (positional: readonly Value[], keywords: KeywordArguments) => Value,
    typeName = 'builtin_function_or_method',
  ) {
    super()
    this.functionName = functionName
    this.implementation = implementation
    this.typeName = typeName
  }
  override call(positional: readonly Value[], keywords: KeywordArguments): Value {
    return this.implementation(positional, keywords)
  }
  represent(): string {
    return `<built-in method ${this.functionName}>`
  }
}

/** A generator or another iterator: read once, always true, without a length. */
export class PythonIterator extends PythonObject {
  readonly typeName: string
  private readonly source: Iterator<Value>
  constructor(source: Iterator<Value>, typeName = 'generator') {
    super()
    this.source = source
    this.typeName = typeName
  }
  override iterate(): Iterator<Value> {
    return this.source
  }
  represent(): string {
    return `<${this.typeName} object>`
  }
}

/** What two equal keys share: strings by their characters, 1 and 1.0 and True by their value. */
type HashKey = string | number | bigint | null | object

const undefinedKey = {}

/**
 * The identity of a value as a dictionary key. A tuple's is a string that starts with two NULs and the word
 * "tuple"; a string key that is spelled just so would be taken for it.
 */
export function hashKey(value: Value): HashKey {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || value === null)
    return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Text) return value.text
  if (value instanceof Float) return floatKey(value.value)
  if (value instanceof Tuple) return `\0\0tuple(${value.items.map((item) => tupleKey(hashKey(item))).join(',')})`
  if (value instanceof Undefined) return undefinedKey
  if (value instanceof PythonObject) return value
  throw typeError(`unhashable type: '${value instanceof Dict ? 'dict' : 'list'}'`)
}

function floatKey(value: number): HashKey {
  if (!Number.isInteger(value)) return value
  return Number.isSafeInteger(value) ? value + 0 : BigInt(value)
}

function tupleKey(key: HashKey): string {
  return typeof key === 'string' ? JSON.stringify(key) : `${typeof key}:${String(key)}`
}

interface Entry {
  readonly key: Value
  value: Value
}

/** A Python `dict`: in order of first insertion, keys equal as Python's are. */
export class Dict {
  private readonly table = new Map<HashKey, Entry>()

  get size(): number {
    return this.table.size
  }
  /** Throws TypeError for a key that can't be hashed. */
  get(key: Value): Value | undefined {
    return this.table.get(hashKey(key))?.value
  }
  /** Like `get` for a key that is a plain string. */
  getText(key: string): Value | undefined {
    return this.table.get(key)?.value
  }
  has(key: Value): boolean {
    return this.table.has(hashKey(key))
  }
  /** Sets a value; a key that is there keeps its place and its first spelling. */
  set(key: Value, value: Value): void {
    const hashed = hashKey(key)
    const entry = this.table.get(hashed)
    if (entry === undefined) this.table.set(hashed, { key, value })
    else entry.value = value
  }
  delete(key: Value): void {
    this.table.delete(hashKey(key))
  }
  *keys(): IterableIterator<Value> {
    for (const entry of this.table.values()) yield entry.key
  }
  *values(): IterableIterator<Value> {
    for (const entry of this.table.values()) yield entry.value
  }
  /** The entries in order; not to be written to. */
  entries(): IterableIterator<Readonly<Entry>> {
    return this.table.values()
  }
  copy(): Dict {
    const copied = new Dict()
    for (const { key, value } of this.entries()) copied.set(key, value)
    return copied
  }
}

/** A dict with string keys, in the order given. */
export function dictOf(entries: Iterable<readonly [string, Value]>): Dict {
  const dict = new Dict()
  for (const [key, value] of entries) dict.set(key, value)
  return dict
}

/** No keyword arguments; not to be written to. */
export const noKeywords: KeywordArguments = new Dict()
