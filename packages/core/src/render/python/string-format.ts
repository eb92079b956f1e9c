import { escapeHtml } from './markup.ts'
import { floatDigits, integerDigits, withoutTrailingZeros } from './number-format.ts'
import { asInteger, floatText, type Integer, integerText } from './numbers.ts'
import { indexError, keyError, overflowError, typeError, unsupported, valueError } from './python-error.ts'
import { ascii, repr, str, typeName } from './represent.ts'
import {
  codePointLength,
  cut,
  derive,
  isMarked,
  isMarkup,
  isStr,
  joinAll,
  textOf,
  toMarkup,
  unitIndex,
} from './text.ts'
import { Float, type KeywordArguments, type Str, Undefined, type Value } from './values.ts'

/** `str.format`: replacement fields, their attributes and items, conversions, and the format mini-language. */

export interface FieldAccess {
  attribute(object: Value, name: string): Value
  item(object: Value, key: Value): Value
}

/** Throws ValueError, IndexError, KeyError and TypeError as Python's sandboxed formatter does. */
export function formatWithFields(
  template: Str,
  positional: readonly Value[],
  keywords: KeywordArguments,
  access: FieldAccess,
): Str {
  const formatter = new Formatter(positional, keywords, access, isMarkup(template))
  const result = formatter.format(template, 2)
  return isMarkup(template) ? toMarkup(result) : result
}

class Formatter {
  private readonly positional: readonly Value[]
  private readonly keywords: KeywordArguments
  private readonly access: FieldAccess
  private readonly isEscaping: boolean
  /** The next automatic number; null once fields are numbered by hand. */
  private automatic: number | null = 0

  constructor(positional: readonly Value[], keywords: KeywordArguments, access: FieldAccess, isEscaping: boolean) {
    this.positional = positional
    this.keywords = keywords
    this.access = access
    this.isEscaping = isEscaping
  }

  format(template: Str, depth: number): Str {
    if (depth < 0) throw valueError('Max string recursion exceeded')
    const text = textOf(template)
    const pieces: Str[] = []
    let done = 0
    for (let at = nextBrace(text, 0); at !== -1; at = nextBrace(text, done)) {
      pieces.push(cut(template, done, at))
      if (text[at + 1] === text[at]) {
        pieces.push(cut(template, at, at + 1))
        done = at + 2
        continue
      }
      if (text[at] === '}') throw valueError("Single '}' encountered in format string")
      const end = fieldEnd(text, at + 1)
      pieces.push(this.field(cut(template, at + 1, end), depth))
      done = end + 1
    }
    pieces.push(cut(template, done, text.length))
    return joinAll(pieces)
  }

  private field(field: Str, depth: number): Str {
    const text = textOf(field)
    const match = /^((?:[^[\]!:{}]|\[[^\]]*\])*)(?:!([^:]*))?(?::|$)/s.exec(text)
    if (match === null) throw valueError("unexpected '{' in field name")
    const [whole, name = '', conversion] = match
    const hasSpec = whole.endsWith(':')
    const value = this.convert(this.lookUp(name), conversion)
    const spec = hasSpec ? this.format(cut(field, whole.length, text.length), depth - 1) : ''
    const shown = this.isEscaping ? formatEscaped(value, textOf(spec)) : formatValue(value, textOf(spec))
    return isMarked(spec) ? derive(textOf(shown), spec) : shown
  }

  private lookUp(name: string): Value {
    const match = /^([^.[]*)(.*)$/s.exec(name)
    const [, first = '', rest = ''] = match ?? []
    let value = this.firstValue(first)
    let done = 0
    for (const step of rest.matchAll(/\.([^.[]*)|\[([^\]]*)\]/gs)) {
      if (step.index !== done) throw valueError("Only '.' or '[' may follow ']' in format field specifier")
      done = step.index + step[0].length
      const [, attribute, key = ''] = step
      if (attribute === '' || (attribute === undefined && key === ''))
        throw valueError('Empty attribute in format string')
      if (attribute !== undefined) value = this.access.attribute(value, attribute)
      else value = this.access.item(value, /^\d+$/.test(key) ? Number(key) : key)
    }
    if (done !== rest.length) throw valueError("Missing ']' in format string")
    return value
  }

  private firstValue(first: string): Value {
    if (first === '' || /^\d+$/.test(first)) {
      const index = first === '' ? this.nextNumber() : this.givenNumber(Number(first))
      const value = this.positional[index]
      if (value === undefined) throw indexError(`Replacement index ${index} out of range for positional args tuple`)
      return value
    }
    const value = this.keywords.getText(first)
    if (value === undefined) throw keyError(`'${first}'`)
    return value
  }

  private nextNumber(): number {
    if (this.automatic === null) {
      throw valueError('cannot switch from manual field specification to automatic field numbering')
    }
    this.automatic += 1
    return this.automatic - 1
  }

  private givenNumber(index: number): number {
    if (this.automatic !== null && this.automatic > 0) {
      throw valueError('cannot switch from automatic field numbering to manual field specification')
    }
    this.automatic = null
    return index
  }

  private convert(value: Value, conversion: string | undefined): Value {
    switch (conversion) {
      case undefined:
        return value
      case 's':
        return str(value)
      case 'r':
        return repr(value)
      case 'a':
        return ascii(value)
      default:
        throw valueError(`Unknown conversion specifier ${conversion}`)
    }
  }
}

function nextBrace(text: string, from: number): number {
  const open = text.indexOf('{', from)
  const close = text.indexOf('}', from)
  if (open === -1 || close === -1) return Math.max(open, close)
  return Math.min(open, close)
}

function fieldEnd(text: string, start: number): number {
  let depth = 1
  for (let index = start; index < text.length; index += 1) {
    if (text[index] === '{') depth += 1
    else if (text[index] === '}') depth -= 1
    if (depth === 0) return index
  }
  throw valueError(
    start >= text.length ? "Single '{' encountered in format string" : "expected '}' before end of string",
  )
}

function formatEscaped(value: Value, spec: string): Str {
  if (!isMarkup(value)) return escapeHtml(formatValue(value, spec))
  if (spec !== '') throw valueError('Unsupported format specification for Markup.')
  return value
}

const specPattern = /^(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/su

interface Spec {
  readonly fill: string
  readonly align: string | null
  readonly sign: string
  readonly isAlternate: boolean
  readonly width: number
  readonly grouping: string
  readonly precision: number | null
  readonly type: string
}

function readSpec(text: string, value: Value): Spec {
  const match = specPattern.exec(text)
  if (match === null) throw valueError(`Invalid format specifier '${text}' for object of type '${typeName(value)}'`)
  const [, fill, align, sign, , alternate, zero, width, grouping, precision, type] = match
  return {
    fill: fill ?? (zero === undefined ? ' ' : '0'),
    align: align ?? (zero === undefined ? null : '='),
    sign: sign ?? '',
    isAlternate: alternate !== undefined,
    width: Number(width ?? 0),
    grouping: grouping ?? '',
    precision: precision === undefined ? null : Number(precision),
    type: type ?? '',
  }
}

/** `format(value, spec)`. */
function formatValue(value: Value, spec: string): Str {
  if (spec === '') return str(value)
  if (isStr(value)) return formatText(value, readSpec(spec, value))
  if (value instanceof Float) return formatFloat(value.value, readSpec(spec, value))
  const whole = asInteger(value)
  if (whole !== null) return formatInteger(whole, readSpec(spec, value), typeof value === 'boolean')
  const name = value instanceof Undefined ? 'Undefined' : typeName(value)
  throw typeError(`unsupported format string passed to ${name}.__format__`)
}

function formatText(value: Str, spec: Spec): Str {
  if (spec.type !== '' && spec.type !== 's') {
    throw valueError(`Unknown format code '${spec.type}' for object of type 'str'`)
  }
  if (spec.sign !== '') throw valueError('Sign not allowed in string format specifier')
  if (spec.isAlternate) throw valueError('Alternate form (#) not allowed in string format specifier')
  if (spec.grouping !== '') throw valueError(`Cannot specify '${spec.grouping}' with 's'.`)
  if (spec.align === '=' && spec.fill !== '0') throw valueError("'=' alignment not allowed in string format specifier")
  const shown = spec.precision === null ? value : cut(value, 0, unitIndex(textOf(value), spec.precision))
  const align = spec.align === '=' ? '<' : (spec.align ?? '<')
  const missing = Math.max(0, spec.width - codePointLength(textOf(shown)))
  const before = align === '<' ? 0 : align === '>' ? missing : Math.floor(missing / 2)
  const joined = joinAll([spec.fill.repeat(before), shown, spec.fill.repeat(missing - before)])
  return joined
}

function formatInteger(value: Integer, spec: Spec, isBoolean: boolean): string {
  if (spec.type !== '' && 'eEfFgG%'.includes(spec.type)) return formatFloat(Number(value), spec)
  if (spec.precision !== null) throw valueError('Precision not allowed in integer format specifier')
  if (spec.type === 'n') throw unsupported("The format code 'n'")
  if (spec.type === 'c') {
    if (value < 0 || value > 0x10ffff) throw overflowError('%c arg not in range(0x110000)')
    return padded(spec, '', String.fromCodePoint(Number(value)), '<')
  }
  if (!['', 'd', 'b', 'o', 'x', 'X'].includes(spec.type)) {
    throw valueError(`Unknown format code '${spec.type}' for object of type '${isBoolean ? 'bool' : 'int'}'`)
  }
  const isDecimal = spec.type === '' || spec.type === 'd'
  const magnitude = value < 0 ? -value : value
  const digits = isDecimal ? integerText(magnitude) : integerDigits(magnitude, spec.type, false)
  if (!isDecimal && spec.grouping === ',') throw valueError(`Cannot specify ',' with '${spec.type}'.`)
  const prefix = spec.isAlternate && !isDecimal ? `0${spec.type}` : ''
  return padded(spec, signOf(value < 0, spec) + prefix, grouped(digits, spec, isDecimal ? 3 : 4), '>')
}

function formatFloat(value: number, spec: Spec): string {
  if (spec.type !== '' && !'eEfFgG%'.includes(spec.type)) {
    throw valueError(`Unknown format code '${spec.type}' for object of type 'float'`)
  }
  const isNegative = value < 0 || Object.is(value, -0)
  const magnitude = Math.abs(value)
  const sign = signOf(isNegative, spec)
  const digits = floatBody(magnitude, spec)
  const [whole = '', ...rest] = digits.split(/(?=[.e%])/i)
  const hasDigits = Number.isFinite(value)
  return padded(spec, sign, (hasDigits ? grouped(whole, spec, 3, rest.join('').length) : whole) + rest.join(''), '>')
}

function floatBody(magnitude: number, spec: Spec): string {
  const { type, precision, isAlternate } = spec
  if (type === '%') {
    const scaled = floatDigits(magnitude * 100, 'f', precision ?? 6, isAlternate)
    return `${scaled}%`
  }
  if (type === '') return bareFloat(magnitude, precision, isAlternate)
  const digits = floatDigits(magnitude, type.toLowerCase(), precision ?? 6, isAlternate)
  return type === type.toUpperCase() ? digits.toUpperCase() : digits
}

/** No type: like `g`, but with at least one digit after the point, and `repr`'s digits without a precision. */
function bareFloat(magnitude: number, precision: number | null, isAlternate: boolean): string {
  if (precision === null) return floatText(magnitude)
  if (!Number.isFinite(magnitude)) return floatDigits(magnitude, 'g', precision, isAlternate)
  const significant = Math.max(1, precision)
  const exponent = Number(floatDigits(magnitude, 'e', significant - 1, false).split('e')[1])
  const isFixed = exponent >= -4 && exponent < significant - 1
  if (!isFixed) {
    const text = floatDigits(magnitude, 'e', significant - 1, isAlternate)
    return isAlternate ? text : withoutTrailingZeros(text)
  }
  const text = floatDigits(magnitude, 'f', significant - 1 - exponent, isAlternate)
  const shortened = isAlternate ? text : withoutTrailingZeros(text)
  return shortened.includes('.') ? shortened : `${shortened}.0`
}

function signOf(isNegative: boolean, spec: Spec): string {
  return isNegative ? '-' : spec.sign === '+' || spec.sign === ' ' ? spec.sign : ''
}

/** Digits with separators; with zero fill, the zeros are grouped as well. */
function grouped(digits: string, spec: Spec, size: number, followingLength = 0): string {
  if (spec.grouping === '') return digits
  let all = digits
  if (spec.align === '=' && spec.fill === '0') {
    const room = spec.width - followingLength - (spec.sign === '' ? 0 : 1)
    while (withSeparators(all, spec.grouping, size).length < room) all = `0${all}`
  }
  return withSeparators(all, spec.grouping, size)
}

function withSeparators(digits: string, separator: string, size: number): string {
  const head = digits.length % size || size
  const groups = [digits.slice(0, head)]
  for (let at = head; at < digits.length; at += size) groups.push(digits.slice(at, at + size))
  return groups.join(separator)
}

function padded(spec: Spec, sign: string, body: string, defaultAlign: '<' | '>'): string {
  const missing = Math.max(0, spec.width - sign.length - codePointLength(body))
  switch (spec.align ?? defaultAlign) {
    case '<':
      return sign + body + spec.fill.repeat(missing)
    case '>':
      return spec.fill.repeat(missing) + sign + body
    case '=':
      return sign + spec.fill.repeat(missing) + body
    default: {
      const before = Math.floor(missing / 2)
      return spec.fill.repeat(before) + sign + body + spec.fill.repeat(missing - before)
    }
  }
}
