import { escapeHtml } from './markup.ts'
import { floatDigits, integerDigits } from './number-format.ts'
import { asDouble, asInteger, type Integer, integerText, toIndex, truncate } from './numbers.ts'
import { keyError, overflowError, typeError, valueError } from './python-error.ts'
import { ascii, repr, str, typeName } from './represent.ts'
import { codePointLength, cut, isMarkup, isStr, joinAll, makeStr, textOf, toMarkup, unitIndex } from './text.ts'
import { Dict, Float, PythonObject, type Str, Tuple, Undefined, type Value } from './values.ts'

/** Python's `format % arguments`, printf style. */

const specifier = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?(.?)/gsu

interface Conversion {
  readonly flags: string
  readonly width: number
  readonly precision: number | null
  readonly letter: string
}

/** Throws TypeError, ValueError and KeyError as Python does. */
export function formatPercent(template: Str, argument: Value): Str {
  const isEscaping = isMarkup(template)
  const source = new Arguments(argument)
  const text = textOf(template)
  const pieces: Str[] = []
  let done = 0
  for (const match of text.matchAll(specifier)) {
    if (match.index < done) continue
    pieces.push(cut(template, done, match.index))
    done = match.index + match[0].length
    const [, key, flags = '', widthText, precisionText, letter = ''] = match
    if (letter === '') throw valueError('incomplete format')
    if (key !== undefined) source.select(key)
    let width = widthText === '*' ? toIndex(source.next(), '* wants int') : Number(widthText ?? 0)
    const precision = precisionText === '*' ? toIndex(source.next(), '* wants int') : precisionText
    const isLeft = flags.includes('-') || width < 0
    width = Math.abs(width)
    if (letter === '%') {
      pieces.push('%')
      continue
    }
    const conversion = {
      flags: isLeft && !flags.includes('-') ? `-${flags}` : flags,
      width,
      precision: precision === undefined ? null : Math.max(0, Number(precision)),
      letter,
    }
    pieces.push(convert(conversion, source.next(), isEscaping))
  }
  source.finish()
  pieces.push(cut(template, done, text.length))
  const joined = joinAll(pieces)
  return isEscaping ? toMarkup(joined) : joined
}

/** The arguments: a tuple in order, a mapping by name, or one value. */
class Arguments {
  private readonly items: readonly Value[]
  private readonly mapping: Value | null
  private position = 0
  private selected: Value | undefined

  constructor(argument: Value) {
    this.items = argument instanceof Tuple ? argument.items : [argument]
    const isMapping =
      argument instanceof Dict ||
      argument instanceof Undefined ||
      Array.isArray(argument) ||
      (argument instanceof PythonObject && argument.item !== undefined)
    this.mapping = isMapping ? argument : null
  }

  select(key: string): void {
    if (!(this.mapping instanceof Dict)) throw typeError('format requires a mapping')
    this.selected = this.mapping.getText(key)
    if (this.selected === undefined) throw keyError(`'${key}'`)
  }

  next(): Value {
    if (this.selected !== undefined) {
      const chosen = this.selected
      this.selected = undefined
      this.position = this.items.length
      return chosen
    }
    const value = this.items[this.position]
    if (value === undefined) throw typeError('not enough arguments for format string')
    this.position += 1
    return value
  }

  finish(): void {
    if (this.mapping === null && this.position < this.items.length) {
      throw typeError('not all arguments converted during string formatting')
    }
  }
}

function convert(conversion: Conversion, value: Value, isEscaping: boolean): Str {
  switch (conversion.letter) {
    case 's':
      return padText(conversion, isEscaping ? escaped(str(value), value) : str(value))
    case 'r':
      return padText(conversion, isEscaping ? escapeHtml(repr(value)) : repr(value))
    case 'a':
      return padText(conversion, isEscaping ? escapeHtml(ascii(value)) : ascii(value))
    case 'c':
      return padText({ ...conversion, precision: null }, character(value))
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return padInteger(conversion, wholeNumber(conversion.letter, value))
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      return padFloat(conversion, value)
    default:
      throw valueError(`unsupported format character '${conversion.letter}'`)
  }
}

function escaped(printed: Str, value: Value): Str {
  return isMarkup(value) ? value : escapeHtml(printed)
}

function padText({ flags, width, precision }: Conversion, text: Str): Str {
  const plain = textOf(text)
  const shown = precision === null ? text : cut(text, 0, unitIndex(plain, precision))
  const padding = ' '.repeat(Math.max(0, width - codePointLength(textOf(shown))))
  const parts = flags.includes('-') ? [shown, padding] : [padding, shown]
  return joinAll(parts.map((part) => (typeof part === 'string' ? part : makeStr(part.text, part.valueSpans))))
}

function character(value: Value): Str {
  if (isStr(value)) {
    if (codePointLength(textOf(value)) !== 1) throw typeError('%c requires int or char')
    return value
  }
  const code = asInteger(value)
  if (code === null) throw typeError('%c requires int or char')
  if (code < 0 || code > 0x10ffff) throw overflowError('%c arg not in range(0x110000)')
  return String.fromCodePoint(Number(code))
}

function wholeNumber(letter: string, value: Value): Integer {
  const whole = asInteger(value)
  if (whole !== null) return whole
  if (value instanceof Float && 'diu'.includes(letter)) return truncate(value.value)
  const wanted = 'diu'.includes(letter) ? 'a real number' : 'an integer'
  throw typeError(`%${letter} format: ${wanted} is required, not ${typeName(value)}`)
}

function padInteger({ flags, width, precision, letter }: Conversion, value: Integer): string {
  const magnitude = value < 0 ? -value : value
  const isAlternate = flags.includes('#')
  const prefixed = 'oxX'.includes(letter) ? integerDigits(magnitude, letter, isAlternate) : integerText(magnitude)
  const prefixLength = isAlternate && 'oxX'.includes(letter) ? 2 : 0
  const digits = prefixed.slice(prefixLength).padStart(precision ?? 0, '0')
  return padNumber(flags, width, value < 0, prefixed.slice(0, prefixLength), digits, true)
}

function padFloat({ flags, width, precision, letter }: Conversion, value: Value): string {
  const number = asDouble(value)
  if (number === null) {
    if (value instanceof Undefined) throw typeError(value.message)
    throw typeError(`must be real number, not ${typeName(value)}`)
  }
  const isNegative = number < 0 || Object.is(number, -0)
  const digits = floatDigits(Math.abs(number), letter.toLowerCase(), precision ?? 6, flags.includes('#'))
  const shown = letter === letter.toUpperCase() ? digits.toUpperCase() : digits
  return padNumber(flags, width, isNegative, '', shown, Number.isFinite(number))
}

function padNumber(
  flags: string,
  width: number,
  isNegative: boolean,
  prefix: string,
  digits: string,
  mayZeroPad: boolean,
): string {
  const sign = isNegative ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : ''
  const missing = Math.max(0, width - sign.length - prefix.length - digits.length)
  if (flags.includes('-')) return `${sign}${prefix}${digits}${' '.repeat(missing)}`
  if (flags.includes('0') && mayZeroPad) return `${sign}${prefix}${'0'.repeat(missing)}${digits}`
  return `${' '.repeat(missing)}${sign}${prefix}${digits}`
}
