import { exponentTextOf, scaledDecimal } from './numbers.ts'

/** C's `%f`, `%e` and `%g` for the magnitude of a float: exact decimal expansion, ties to even. */

/** Digits of a non-negative finite float with `precision` decimals. */
export function fixedDigits(magnitude: number, precision: number, keepsPoint = false): string {
  const digits = scaledDecimal(magnitude, precision)
    .toString()
    .padStart(precision + 1, '0')
  const whole = digits.slice(0, digits.length - precision)
  const point = precision > 0 || keepsPoint ? '.' : ''
  return `${whole}${point}${digits.slice(digits.length - precision)}`
}

/** Mantissa digits and decimal exponent of a non-negative finite float, rounded to `precision` decimals. */
function scientific(magnitude: number, precision: number): { digits: string; exponent: number } {
  if (magnitude === 0) return { digits: '0'.repeat(precision + 1), exponent: 0 }
  let exponent = Number(magnitude.toExponential().split('e')[1])
  let digits = scaledDecimal(magnitude, precision - exponent).toString()
  if (digits.length > precision + 1) {
    exponent += 1
    digits = scaledDecimal(magnitude, precision - exponent).toString()
  }
  return { digits, exponent }
}

function exponentDigits(magnitude: number, precision: number, keepsPoint = false): string {
  const { digits, exponent } = scientific(magnitude, precision)
  const point = precision > 0 || keepsPoint ? '.' : ''
  return `${digits[0] ?? ''}${point}${digits.slice(1)}e${exponentTextOf(exponent)}`
}

function generalDigits(magnitude: number, precision: number, keepsZeros = false): string {
  const significant = Math.max(1, precision)
  const { exponent } = scientific(magnitude, significant - 1)
  const isFixed = exponent >= -4 && exponent < significant
  const text = isFixed
    ? fixedDigits(magnitude, significant - 1 - exponent, keepsZeros)
    : exponentDigits(magnitude, significant - 1, keepsZeros)
  return keepsZeros ? text : withoutTrailingZeros(text)
}

export function withoutTrailingZeros(text: string): string {
  const [mantissa = '', exponent] = text.split('e')
  const shortened = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa
  return exponent === undefined ? shortened : `${shortened}e${exponent}`
}

/** The digits of a magnitude in a C conversion: `e`, `f` or `g`, or `inf` and `nan`. */
export function floatDigits(magnitude: number, conversion: string, precision: number, isAlternate: boolean): string {
  if (!Number.isFinite(magnitude)) return Number.isNaN(magnitude) ? 'nan' : 'inf'
  switch (conversion) {
    case 'f':
      return fixedDigits(magnitude, precision, isAlternate)
    case 'e':
      return exponentDigits(magnitude, precision, isAlternate)
    default:
      return generalDigits(magnitude, precision, isAlternate)
  }
}

/** Digits of a non-negative integer in base 2, 8, 10 or 16, with Python's prefix where asked for. */
export function integerDigits(magnitude: number | bigint, conversion: string, isAlternate: boolean): string {
  const bases: Readonly<Record<string, readonly [number, string]>> = {
    b: [2, '0b'],
    o: [8, '0o'],
    x: [16, '0x'],
    X: [16, '0X'],
  }
  const [base, prefix] = bases[conversion] ?? [10, '']
  const digits = magnitude.toString(base)
  return `${isAlternate ? prefix : ''}${conversion === 'X' ? digits.toUpperCase() : digits}`
}
