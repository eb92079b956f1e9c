import { bind, signature } from './arguments.ts'
import { asInteger, type Integer } from './numbers.ts'
import { equals, item, toList, undefinedError } from './operators.ts'
import { PythonError, typeError, unsupported, valueError } from './python-error.ts'
import { quote, repr, typeName } from './represent.ts'
import { formatWithFields } from './string-format.ts'
import { stringMethods } from './string-methods.ts'
import { isMarkup, isStr, textOf } from './text.ts'
import {
  BuiltinFunction,
  Dict,
  Float,
  type KeywordArguments,
  PythonIterator,
  PythonObject,
  type Str,
  Tuple,
  Undefined,
  type Value,
} from './values.ts'

/**
 * Attributes and subscripts as Jinja's immutable sandbox allows them.
 *
 * `a.b` prefers the attribute, `a['b']` the item; what neither finds is
 * Undefined. Names that start with an underscore and methods that would change
 * a list or a dict are found, and are Undefined too: their use is a
 * SecurityError.
 */

type Method<Self> = (self: Self, positional: readonly Value[], keywords: KeywordArguments) => Value

/** `environment.getattr(object, name)`. */
export function getAttribute(object: Value, name: string): Value {
  if (object instanceof Undefined) throw undefinedError(object)
  const attribute = findAttribute(object, name)
  if (attribute !== undefined) return attribute
  const value = object instanceof Dict ? object.getText(name) : undefined
  return value === undefined ? missingAttribute(object, name) : value
}

/** `environment.getitem(object, key)`. */
export function getItem(object: Value, key: Value): Value {
  if (object instanceof Dict && typeof key === 'string') {
    const found = object.getText(key)
    if (found !== undefined) return found
  } else {
    try {
      return item(object, key)
    } catch (error) {
      if (!isLookupFailure(error)) throw error
    }
  }
  const attribute = isStr(key) ? findAttribute(object, textOf(key)) : undefined
  return attribute === undefined ? missingItem(object, key) : attribute
}

/** `object|attr(name)`: the attribute alone. */
export function getAttributeOnly(object: Value, name: string): Value {
  if (object instanceof Undefined) throw undefinedError(object)
  const attribute = findAttribute(object, name)
  return attribute === undefined ? missingAttribute(object, name) : attribute
}

function isLookupFailure(error: unknown): boolean {
  return error instanceof PythonError && ['TypeError', 'KeyError', 'IndexError'].includes(error.pythonType)
}

function missingAttribute(object: Value, name: string): Undefined {
  return new Undefined(() => `'${typeName(object)} object' has no attribute ${quote(name)}`)
}

function missingItem(object: Value, key: Value): Undefined {
  if (isStr(key)) return missingAttribute(object, textOf(key))
  return new Undefined(() => `${typeName(object)} object has no element ${textOf(repr(key))}`)
}

function unsafe(object: Value, name: string): Undefined {
  const message = (): string => `access to attribute ${quote(name)} of '${typeName(object)}' object is unsafe.`
  return new Undefined(message, 'SecurityError')
}

/** The attribute as the sandbox hands it out; undefined where Python raises AttributeError. */
function findAttribute(object: Value, name: string): Value | undefined {
  if (name.startsWith('_')) return hasInternalName(object, name) ? unsafe(object, name) : undefined
  if (object instanceof Dict) return methodOf(dictMethods, changesDict, object, name)
  if (isStr(object)) return stringAttribute(object, name)
  if (Array.isArray(object)) return methodOf(listMethods, changesList, object, name)
  if (object instanceof PythonObject) return object.attribute?.(name)
  if (object instanceof Tuple) return tupleAttribute(object, name)
  if (object instanceof Float) return floatAttribute(object, name)
  const whole = asInteger(object)
  return whole === null ? undefined : integerAttribute(whole, name)
}

/** Whether `a.name` on a dict is the attribute whatever keys it has. */
export function isDictAttribute(name: string): boolean {
  return name.startsWith('_') || dictMethods.has(name) || changesDict.has(name)
}

function methodOf<Self extends Value>(
  methods: ReadonlyMap<string, Method<Self>>,
  changing: ReadonlySet<string>,
  self: Self,
  name: string,
): Value | undefined {
  if (changing.has(name)) return unsafe(self, name)
  const method = methods.get(name)
  if (method === undefined) return undefined
  return new BuiltinFunction(name, (positional, keywords) => method(self, positional, keywords))
}

function stringAttribute(self: Str, name: string): Value | undefined {
  if (name === 'format' || name === 'format_map') return boundFormat(self, name)
  if (isMarkup(self) && ['unescape', 'striptags', 'escape'].includes(name)) {
    return new BuiltinFunction(name, () => {
      throw unsupported(`Markup.${name}`)
    })
  }
  return methodOf(stringMethods, noNames, self, name)
}

function boundFormat(self: Str, name: 'format' | 'format_map'): Value {
  return new BuiltinFunction(
    name,
    (positional, keywords) => {
      if (name === 'format') return formatWithFields(self, positional, keywords, fieldAccess)
      const [mapping] = bind(signature(name, '/', 'mapping'), positional, keywords)
      if (!(mapping instanceof Dict)) throw typeError(`format_map() takes a mapping, not ${typeName(mapping ?? null)}`)
      return formatWithFields(self, [], mapping, fieldAccess)
    },
    'function',
  )
}

const fieldAccess = { attribute: getAttribute, item: getItem }

const noNames: ReadonlySet<string> = new Set()
const changesDict: ReadonlySet<string> = new Set(['clear', 'pop', 'popitem', 'setdefault', 'update'])
const changesList: ReadonlySet<string> = new Set([
  'append',
  'clear',
  'pop',
  'reverse',
  'insert',
  'sort',
  'extend',
  'remove',
])

function define<Self>(
  name: string,
  parameters: readonly string[],
  implementation: (self: Self, ...bound: (Value | undefined)[]) => Value,
): [string, Method<Self>] {
  const declared = signature(name, ...parameters)
  return [name, (self, positional, keywords) => implementation(self, ...bind(declared, positional, keywords))]
}

const dictMethods: ReadonlyMap<string, Method<Dict>> = new Map([
  define<Dict>('get', ['/', 'key', 'default?'], (self, key = null, fallback = null) => {
    const value = self.get(key)
    return value === undefined ? fallback : value
  }),
  define<Dict>('items', ['/'], (self) => new DictView(self, 'items')),
  define<Dict>('keys', ['/'], (self) => new DictView(self, 'keys')),
  define<Dict>('values', ['/'], (self) => new DictView(self, 'values')),
  define<Dict>('copy', ['/'], (self) => self.copy()),
  define<Dict>('fromkeys', ['/', 'iterable', 'value?'], (_self, keys, value) =>
    dictFromKeys(keys ?? null, value ?? null),
  ),
])

/** `dict.fromkeys(keys, value)`. */
export function dictFromKeys(keys: Value, value: Value): Dict {
  const dict = new Dict()
  for (const key of toList(keys)) dict.set(key, value)
  return dict
}

function indexOf(items: readonly Value[], wanted: Value): number {
  const index = items.findIndex((candidate) => equals(candidate, wanted))
  if (index === -1) throw valueError(`${textOf(repr(wanted))} is not in list`)
  return index
}

const listMethods: ReadonlyMap<string, Method<Value[]>> = new Map([
  define<Value[]>('count', ['/', 'value'], (self, value) => countOf(self, value ?? null)),
  define<Value[]>('index', ['/', 'value', 'start?', 'stop?'], (self, value, start, stop) => {
    if (start === undefined && stop === undefined) return indexOf(self, value ?? null)
    throw unsupported('list.index with bounds')
  }),
  define<Value[]>('copy', ['/'], (self) => self.slice()),
])

function countOf(items: readonly Value[], wanted: Value): number {
  return items.filter((candidate) => equals(candidate, wanted)).length
}

const tupleMethods: ReadonlyMap<string, Method<Tuple>> = new Map([
  define<Tuple>('count', ['/', 'value'], (self, value) => countOf(self.items, value ?? null)),
  define<Tuple>('index', ['/', 'value'], (self, value) => indexOf(self.items, value ?? null)),
])

function tupleAttribute(self: Tuple, name: string): Value | undefined {
  const field = self.fields.indexOf(name)
  return field === -1 ? methodOf(tupleMethods, noNames, self, name) : self.items[field]
}

function integerAttribute(self: Integer, name: string): Value | undefined {
  switch (name) {
    case 'real':
    case 'numerator':
      return self
    case 'imag':
      return 0
    case 'denominator':
      return 1
    case 'bit_length':
    case 'bit_count':
    case 'conjugate':
    case 'as_integer_ratio':
      return new BuiltinFunction(name, (positional, keywords) => {
        bind(signature(name, '/'), positional, keywords)
        return integerMethod(self, name)
      })
    case 'to_bytes':
    case 'from_bytes':
      return new BuiltinFunction(name, () => {
        throw unsupported('bytes')
      })
    default:
      return undefined
  }
}

function integerMethod(self: Integer, name: string): Value {
  if (name === 'conjugate') return self
  if (name === 'as_integer_ratio') return new Tuple([self, 1])
  const magnitude = BigInt(self) < 0n ? -BigInt(self) : BigInt(self)
  const bits = magnitude === 0n ? '' : magnitude.toString(2)
  return name === 'bit_length' ? bits.length : bits.replaceAll('0', '').length
}

function floatAttribute(self: Float, name: string): Value | undefined {
  switch (name) {
    case 'real':
      return self
    case 'imag':
      return new Float(0)
    case 'is_integer':
      return new BuiltinFunction(name, () => Number.isInteger(self.value))
    case 'conjugate':
      return new BuiltinFunction(name, () => self)
    case 'hex':
    case 'fromhex':
    case 'as_integer_ratio':
      return new BuiltinFunction(name, () => {
        throw unsupported(`float.${name}`)
      })
    default:
      return undefined
  }
}

/** `dict.items()`, `dict.keys()` and `dict.values()`. */
class DictView extends PythonObject {
  readonly typeName: string
  private readonly dict: Dict
  private readonly kind: 'items' | 'keys' | 'values'

  constructor(dict: Dict, kind: 'items' | 'keys' | 'values') {
    super()
    this.dict = dict
    this.kind = kind
    this.typeName = `dict_${kind}`
  }
  override *iterate(): Iterator<Value> {
    for (const { key, value } of this.dict.entries()) {
      yield this.kind === 'items' ? new Tuple([key, value]) : this.kind === 'keys' ? key : value
    }
  }
  override length(): number {
    return this.dict.size
  }
  override contains(wanted: Value): boolean {
    if (this.kind === 'keys') return this.dict.has(wanted)
    if (this.kind === 'values') return toList(this).some((value) => equals(value, wanted))
    if (!(wanted instanceof Tuple) || wanted.items.length !== 2) return false
    const [key, value] = wanted.items
    const found = this.dict.get(key ?? null)
    return found !== undefined && equals(found, value ?? null)
  }
  override equals(other: PythonObject): boolean {
    if (!(other instanceof DictView) || this.kind === 'values' || other.kind === 'values') return false
    return this.dict.size === other.dict.size && toList(this).every((entry) => other.contains(entry))
  }
  override reverse(): Iterator<Value> {
    return toList(this).reverse().values()
  }
  override represent(inner: (value: Value) => string): string {
    return `${this.typeName}([${toList(this).map(inner).join(', ')}])`
  }
}

/** `reversed(value)`; null where Python raises TypeError. */
export function reversedIterator(value: Value): PythonIterator | null {
  if (value instanceof Undefined) return new PythonIterator([].values(), 'reversed')
  if (Array.isArray(value)) return new PythonIterator(value.slice().reverse().values(), 'list_reverseiterator')
  if (value instanceof Tuple) return new PythonIterator(value.items.slice().reverse().values(), 'reversed')
  if (isStr(value)) return new PythonIterator(toList(value).reverse().values(), 'reversed')
  if (value instanceof Dict) return new PythonIterator([...value.keys()].reverse().values(), 'dict_reversekeyiterator')
  if (value instanceof PythonObject && value.reverse !== undefined)
    return new PythonIterator(value.reverse(), 'reversed')
  return null
}

/** `dict(…)`. */
export function dictFromArguments(positional: readonly Value[], keywords: KeywordArguments): Dict {
  const [source, ...others] = positional
  if (others.length > 0) throw typeError(`dict expected at most 1 argument, got ${positional.length}`)
  if (source instanceof Undefined) throw undefinedError(source)
  const dict = source === undefined ? new Dict() : source instanceof Dict ? source.copy() : dictFromPairs(source)
  for (const { key, value } of keywords.entries()) dict.set(key, value)
  return dict
}

function dictFromPairs(source: Value): Dict {
  const dict = new Dict()
  for (const [index, entry] of toList(source).entries()) {
    const pair = toList(entry)
    if (pair.length !== 2) {
      throw valueError(`dictionary update sequence element #${index} has length ${pair.length}; 2 is required`)
    }
    dict.set(pair[0] ?? null, pair[1] ?? null)
  }
  return dict
}

const onEveryObject: ReadonlySet<string> = new Set(
  `class delattr dir doc eq format ge getattribute getstate gt hash init init_subclass le lt ne new reduce reduce_ex
  repr setattr sizeof str subclasshook`.split(/\s+/),
)
const onSequences = 'add contains getitem getnewargs iter len mul rmul'
const onNumbers = `abs add bool ceil divmod float floor floordiv int mod mul neg pos pow radd rdivmod rfloordiv rmod rmul
  round rpow rsub rtruediv sub truediv trunc getnewargs`
const onType: Readonly<Record<string, ReadonlySet<string>>> = {
  str: new Set(`${onSequences} mod rmod`.split(/\s+/)),
  Markup: new Set(`${onSequences} mod rmod radd html html_format module slots`.split(/\s+/)),
  list: new Set(`${onSequences} class_getitem delitem iadd imul reversed setitem`.split(/\s+/)),
  tuple: new Set(`${onSequences} class_getitem`.split(/\s+/)),
  dict: new Set('class_getitem contains delitem getitem ior iter len or reversed ror setitem'.split(/\s+/)),
  int: new Set(`${onNumbers} and index invert lshift or rand rlshift ror rrshift rshift rxor xor`.split(/\s+/)),
  bool: new Set(`${onNumbers} and index invert lshift or rand rlshift ror rrshift rshift rxor xor`.split(/\s+/)),
  float: new Set(`${onNumbers} getformat`.split(/\s+/)),
  NoneType: new Set(['bool']),
}

/** Whether Python finds a double-underscore name on the value's type. */
function hasInternalName(object: Value, name: string): boolean {
  const match = /^__(\w+)__$/.exec(name)
  if (match === null) return false
  const bare = match[1] ?? ''
  return onEveryObject.has(bare) || (onType[typeName(object)]?.has(bare) ?? false)
}
