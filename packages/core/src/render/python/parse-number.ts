import { type Integer, integer } from './numbers.ts'
import { valueError } from './python-error.ts'
import { quote } from './represent.ts'
import { isDecimal, whitespaceClass } from './unicode.ts'

/** `int(text, base)` and `float(text)`. */

/** The spaces of `str.strip()` but U+001C to U+001F, which CPython does not take for spaces here. */
const spaces = whitespaceClass.replace('\\x1c-\\x1f', '')
const surroundingSpace = new RegExp(`^[${spaces}]+|[${spaces}]+$`, 'g')

function trimmed(text: string): string {
  return text.replace(surroundingSpace, '')
}

/** Decimal digits of any script as ASCII digits. */
function asciiDigits(text: string): string {
  if (!/[^\x00-\x7f]/.test(text)) return text
  return [...text].map((character) => (isDecimal(character) ? decimalValue(character) : character)).join('')
}

/** Decimal digits come in runs of ten that start at zero: walk back to the start of the run. */
function decimalValue(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code >= 0x1d7ce && code <= 0x1d7ff) return String((code - 0x1d7ce) % 10)
  let start = code
  while (code - start < 9 && isDecimal(String.fromCodePoint(start - 1))) start -= 1
  return String(code - start)
}

/** Throws ValueError for text that is no integer in that base. Base 0 goes by the prefix. */
export function parseInteger(text: string, base: number): Integer {
  if (base !== 0 && (base < 2 || base > 36)) throw valueError('int() base must be >= 2 and <= 36, or 0')
  const invalid = valueError(`invalid literal for int() with base ${base}: ${quote(text)}`)
  const digitsOnly = asciiDigits(trimmed(text)).toLowerCase()
  const match = /^([+-]?)(0[box])?(_?[0-9a-z]+(?:_[0-9a-z]+)*)$/.exec(withoutForeignPrefix(digitsOnly, base))
  if (match === null) throw invalid
  const [, sign = '', prefix, digitsText = ''] = match
  const prefixBase = prefix === undefined ? 0 : { '0b': 2, '0o': 8, '0x': 16 }[prefix]
  if (digitsText.startsWith('_') && prefix === undefined) throw invalid
  const usedBase = base === 0 ? prefixBase || 10 : base
  const digits = digitsText.replaceAll('_', '')
  if (base === 0 && prefix === undefined && /^0\d*[1-9]/.test(digits)) throw invalid
  let value = 0n
  const radix = BigInt(usedBase)
  if (usedBase === 10) {
    if (!/^\d+$/.test(digits)) throw invalid
    if (digits.length > 4300) throw valueError('Exceeds the limit (4300 digits) for integer string conversion')
    value = BigInt(digits)
  } else {
    for (const digit of digits) {
      const digitValue = Number.parseInt(digit, 36)
      if (digitValue >= usedBase) throw invalid
      value = value * radix + BigInt(digitValue)
    }
  }
  return integer(sign === '-' ? -value : value)
}

/** A prefix counts only where it names the base; elsewhere (`0b1` in base 16) its letter is a digit. */
function withoutForeignPrefix(text: string, base: number): string {
  const match = /^([+-]?)0([box])/.exec(text)
  if (match === null || base === 0 || base === { b: 2, o: 8, x: 16 }[match[2] ?? '']) return text
  return `${match[1] ?? ''}${text.slice((match[1] ?? '').length + 1)}`
}

const floatPattern =
  /^[+-]?(?:(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?|inf|infinity|nan)$/i

/** Throws ValueError for text that is no number. */
export function parseFloatText(text: string): number {
  const number = asciiDigits(trimmed(text))
  if (!floatPattern.test(number)) throw valueError(`could not convert string to float: ${quote(text)}`)
  const plain = number.replaceAll('_', '').toLowerCase()
  const magnitude = plain.replace(/^[+-]/, '')
  const value = magnitude.startsWith('inf')
    ? Number.POSITIVE_INFINITY
    : magnitude === 'nan'
      ? Number.NaN
      : Number(magnitude)
  return plain.startsWith('-') ? -value : value
}
