import { dictFromArguments } from '../python/attributes.ts'
import { toIndex } from '../python/numbers.ts'
import { equals, iterate, length, sliceBounds } from '../python/operators.ts'
import { indexError, overflowError, PythonError, typeError, valueError } from '../python/python-error.ts'
import { quote, repr, typeName } from '../python/represent.ts'
import { isStr, textOf } from '../python/text.ts'
import {
  BuiltinFunction,
  type Dict,
  Float,
  type KeywordArguments,
  PythonObject,
  Tuple,
  Undefined,
  type Value,
} from '../python/values.ts'

/** The objects that Jinja puts into templates: `loop`, `namespace()`, `range()`, `cycler()`, `joiner()`. */

/** `range(start, stop, step)`. */
export class Range extends PythonObject {
  readonly typeName = 'range'
  private readonly start: number
  private readonly stop: number
  private readonly step: number

  constructor(start: number, stop: number, step: number) {
    super()
    this.start = start
    this.stop = stop
    this.step = step
  }
  override length(): number {
    return Math.max(0, Math.ceil((this.stop - this.start) / this.step))
  }
  override *iterate(): Iterator<Value> {
    for (let index = 0; index < this.length(); index += 1) yield this.start + index * this.step
  }
  override *reverse(): Iterator<Value> {
    for (let index = this.length() - 1; index >= 0; index -= 1) yield this.start + index * this.step
  }
  override item(key: Value): Value {
    const index = toIndex(key, `range indices must be integers or slices, not ${typeName(key)}`)
    const position = index < 0 ? index + this.length() : index
    if (position < 0 || position >= this.length()) throw indexError('range object index out of range')
    return this.start + position * this.step
  }
  override slice(start: Value, stop: Value, step: Value): Value {
    const bounds = sliceBounds(this.length(), start, stop, step)
    const at = (index: number): number => this.start + index * this.step
    return new Range(at(bounds.start), at(bounds.stop), this.step * bounds.step)
  }
  override contains(wanted: Value): boolean {
    const number = typeof wanted === 'boolean' ? Number(wanted) : wanted instanceof Float ? wanted.value : wanted
    if (typeof number !== 'number') return false
    const offset = (number - this.start) / this.step
    return Number.isInteger(offset) && offset >= 0 && offset < this.length()
  }
  override equals(other: PythonObject): boolean {
    if (!(other instanceof Range) || other.length() !== this.length()) return false
    const count = this.length()
    return count === 0 || (this.start === other.start && (count === 1 || this.step === other.step))
  }
  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'start':
        return this.start
      case 'stop':
        return this.stop
      case 'step':
        return this.step
      case 'index':
      case 'count':
        return new BuiltinFunction(name, ([wanted = null]) => this.search(name, wanted))
      default:
        return undefined
    }
  }
  private search(name: 'index' | 'count', wanted: Value): Value {
    const isIn = this.contains(wanted)
    if (name === 'count') return Number(isIn)
    if (!isIn) throw valueError('value is not in range')
    return (Number(wanted instanceof Float ? wanted.value : wanted) - this.start) / this.step
  }
  represent(): string {
    return `range(${this.start}, ${this.stop}${this.step === 1 ? '' : `, ${this.step}`})`
  }
}

const maxRange = 100_000

/** The sandbox's `range`: at most 100,000 items. */
export function safeRange(positional: readonly Value[], keywords: KeywordArguments): Range {
  if (keywords.size > 0) throw typeError('range() takes no keyword arguments')
  if (positional.length === 0 || positional.length > 3) {
    throw typeError(`range expected 1 to 3 arguments, got ${positional.length}`)
  }
  const numbers = positional.map((value) =>
    toIndex(value, `'${typeName(value)}' object cannot be interpreted as an integer`),
  )
  const [start = 0, stop = 0, step = 1] = numbers.length === 1 ? [0, ...numbers] : numbers
  if (step === 0) throw valueError('range() arg 3 must not be zero')
  const range = new Range(start, stop, step)
  if (range.length() > maxRange) {
    throw overflowError(`Range too big. The sandbox blocks ranges larger than MAX_RANGE (${maxRange}).`)
  }
  return range
}

/** `namespace()`: the one object whose attributes a template may set. Names with an underscore in front are refused, as transformers does. */
export class Namespace extends PythonObject {
  readonly typeName = 'TemplateNamespace'
  private readonly attributes: Dict

  constructor(positional: readonly Value[], keywords: KeywordArguments) {
    super()
    this.attributes = dictFromArguments(positional, keywords)
    for (const key of this.attributes.keys()) if (isStr(key)) checkAttributeName(textOf(key))
  }
  override attribute(name: string): Value | undefined {
    return this.attributes.getText(name)
  }
  set(name: string, value: Value): void {
    checkAttributeName(name)
    this.attributes.set(name, value)
  }
  represent(inner: (value: Value) => string): string {
    return `<Namespace ${inner(this.attributes)}>`
  }
}

function checkAttributeName(name: string): void {
  if (!name.startsWith('_')) return
  const message = `Chat templates cannot store underscore-prefixed attributes on a namespace, but got ${quote(name)}.`
  throw new PythonError('SecurityError', message)
}

/** `cycler(a, b, …)`. */
export class Cycler extends PythonObject {
  readonly typeName = 'Cycler'
  private readonly items: readonly Value[]
  private position = 0

  constructor(items: readonly Value[]) {
    super()
    if (items.length === 0) throw new PythonError('RuntimeError', 'at least one item has to be provided')
    this.items = items
  }
  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'current':
        return this.items[this.position]
      case 'pos':
        return this.position
      case 'items':
        return new Tuple(this.items)
      case 'next':
        return new BuiltinFunction(name, () => this.next(), 'method')
      case 'reset':
        return new BuiltinFunction(name, () => this.reset(), 'method')
      default:
        return undefined
    }
  }
  private next(): Value {
    const current = this.items[this.position] ?? null
    this.position = (this.position + 1) % this.items.length
    return current
  }
  private reset(): Value {
    this.position = 0
    return null
  }
  represent(): string {
    return '<jinja2.utils.Cycler object>'
  }
}

/** `joiner(separator)`: nothing at the first call, the separator at later ones. */
export class Joiner extends PythonObject {
  readonly typeName = 'Joiner'
  private readonly separator: Value
  private isUsed = false

  constructor(separator: Value) {
    super()
    this.separator = separator
  }
  override attribute(name: string): Value | undefined {
    if (name === 'sep') return this.separator
    return name === 'used' ? this.isUsed : undefined
  }
  override call(positional: readonly Value[]): Value {
    if (positional.length > 0) throw typeError('Joiner.__call__() takes 1 positional argument')
    const result = this.isUsed ? this.separator : ''
    this.isUsed = true
    return result
  }
  represent(): string {
    return '<jinja2.utils.Joiner object>'
  }
}

type Recurse = (iterable: Value, depth: number) => Value

/** The variable `loop`. Reads one item ahead only where a template asks about the next one. */
export class LoopContext extends PythonObject {
  readonly typeName = 'LoopContext'
  private readonly iterable: Value
  private iterator: Iterator<Value>
  private readonly recurse: Recurse | null
  private readonly depth0: number
  private index0 = -1
  private knownLength: number | null = null
  private after: Value | undefined
  private current: Value | undefined
  private before: Value | undefined
  private lastChanged: Tuple | null = null

  constructor(iterable: Value, recurse: Recurse | null, depth0: number) {
    super()
    this.iterable = iterable
    this.iterator = iterate(iterable)
    this.recurse = recurse
    this.depth0 = depth0
  }

  /** Moves to the next item; undefined at the end. */
  advance(): Value | undefined {
    const value = this.peek()
    this.after = undefined
    if (value === undefined) return undefined
    this.index0 += 1
    this.before = this.current
    this.current = value
    return value
  }

  private peek(): Value | undefined {
    if (this.after !== undefined) return this.after
    const step = this.iterator.next()
    this.after = step.done === true ? undefined : step.value
    return this.after
  }

  override length(): number {
    if (this.knownLength !== null) return this.knownLength
    if (hasLength(this.iterable)) this.knownLength = length(this.iterable)
    else {
      const rest: Value[] = []
      for (let step = this.iterator.next(); step.done !== true; step = this.iterator.next()) rest.push(step.value)
      this.iterator = rest.values()
      this.knownLength = rest.length + this.index0 + 1 + (this.after === undefined ? 0 : 1)
    }
    return this.knownLength
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return this.index0 + 1
      case 'index0':
        return this.index0
      case 'revindex':
        return this.length() - this.index0
      case 'revindex0':
        return this.length() - this.index0 - 1
      case 'first':
        return this.index0 === 0
      case 'last':
        return this.peek() === undefined
      case 'length':
        return this.length()
      case 'depth':
        return this.depth0 + 1
      case 'depth0':
        return this.depth0
      case 'previtem':
        return neighbour(this.index0 === 0 ? undefined : this.before, 'previous')
      case 'nextitem':
        return neighbour(this.peek(), 'next')
      case 'cycle':
        return new BuiltinFunction(name, (items) => this.cycle(items), 'method')
      case 'changed':
        return new BuiltinFunction(name, (values) => this.changed(new Tuple(values)), 'method')
      default:
        return undefined
    }
  }

  private cycle(items: readonly Value[]): Value {
    if (items.length === 0) throw typeError('no items for cycling given')
    return items[this.index0 % items.length] ?? null
  }

  private changed(values: Tuple): boolean {
    const isChanged = this.lastChanged === null || !equals(this.lastChanged, values)
    if (isChanged) this.lastChanged = values
    return isChanged
  }

  override call([iterable, ...others]: readonly Value[], keywords: KeywordArguments): Value {
    const given = iterable === undefined ? keywords.get('iterable') : iterable
    if (given === undefined || others.length > 0) throw typeError('LoopContext.__call__() takes 2 positional arguments')
    if (this.recurse === null) {
      throw typeError("The loop must have the 'recursive' marker to be called recursively.")
    }
    return this.recurse(given, this.depth0 + 1)
  }

  override *iterate(): Iterator<Value> {
    for (let value = this.advance(); value !== undefined; value = this.advance()) yield new Tuple([value, this])
  }

  represent(): string {
    return `<LoopContext ${this.index0 + 1}/${this.length()}>`
  }
}

function neighbour(value: Value | undefined, which: string): Value {
  return value === undefined ? new Undefined(() => `there is no ${which} item`) : value
}

function hasLength(value: Value): boolean {
  return !(value instanceof PythonObject) || value.length !== undefined
}

/** A macro, or the body of a call block as `caller`. */
export class Macro extends PythonObject {
  readonly typeName = 'Macro'
  private readonly macroName: string | null
  private readonly parameters: readonly string[]
  private readonly accepts: MacroAcceptance
  private readonly invoke: (values: readonly (Value | undefined)[]) => Value

  constructor(
    macroName: string | null,
    parameters: readonly string[],
    accepts: MacroAcceptance,
    invoke: (values: readonly (Value | undefined)[]) => Value,
  ) {
    super()
    this.macroName = macroName
    this.parameters = parameters
    this.accepts = accepts
    this.invoke = invoke
  }

  override call(positional: readonly Value[], keywords: KeywordArguments): Value {
    const rest = keywords.copy()
    const values: (Value | undefined)[] = positional.slice(0, this.parameters.length)
    let hasCaller = values.length === this.parameters.length && this.parameters.includes('caller')
    for (const name of this.parameters.slice(values.length)) {
      if (name === 'caller') hasCaller = true
      values.push(rest.get(name))
      rest.delete(name)
    }
    if (this.accepts.caller && !hasCaller) {
      values.push(rest.getText('caller') ?? new Undefined(() => 'No caller defined'))
      rest.delete('caller')
    }
    if (this.accepts.keywords) values.push(rest)
    else this.refuse(rest)
    const extra = positional.slice(this.parameters.length)
    if (this.accepts.positional) values.push(new Tuple(extra))
    else if (extra.length > 0) {
      throw typeError(`macro ${this.shownName()} takes not more than ${this.parameters.length} argument(s)`)
    }
    return this.invoke(values)
  }

  private refuse(rest: KeywordArguments): void {
    const [first] = rest.keys()
    if (first === undefined) return
    if (rest.has('caller')) {
      throw typeError(
        `macro ${this.shownName()} was invoked with two values for the special caller argument. This is most likely a bug.`,
      )
    }
    throw typeError(`macro ${this.shownName()} takes no keyword argument ${textOf(repr(first))}`)
  }

  private shownName(): string {
    return this.macroName === null ? 'None' : quote(this.macroName)
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'name':
        return this.macroName
      case 'arguments':
        return new Tuple(this.parameters)
      case 'catch_kwargs':
        return this.accepts.keywords
      case 'catch_varargs':
        return this.accepts.positional
      case 'caller':
        return this.accepts.caller
      case 'explicit_caller':
        return this.parameters.includes('caller')
      default:
        return undefined
    }
  }

  represent(): string {
    return `<Macro ${this.macroName === null ? 'anonymous' : quote(this.macroName)}>`
  }
}

/** Which special variables the body of a macro reads. */
export interface MacroAcceptance {
  readonly caller: boolean
  readonly keywords: boolean
  readonly positional: boolean
}
