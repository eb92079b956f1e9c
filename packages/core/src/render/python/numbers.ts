import { overflowError, typeError, unsupported, valueError, zeroDivisionError } from './python-error.ts'
import { Float, type Value } from './values.ts'

/**
 * Python's numbers: integers without a limit, floats that print as `repr`
 * prints them, and the arithmetic between them. Integers are JS numbers while
 * they are safe and bigints beyond; `integer` keeps that invariant.
 */
export type Integer = number | bigint

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)

/** The one form of an integer. */
export function integer(value: bigint): Integer {
  return value <= maxSafe && value >= -maxSafe ? Number(value) : value
}

/** An `int` or `bool` as an integer; null for anything else. */
export function asInteger(value: Value): Integer | null {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  return null
}

/** An `int`, `bool` or `float` as a JS number; null for anything else. Throws OverflowError as Python does. */
export function asDouble(value: Value): number | null {
  if (value instanceof Float) return value.value
  const whole = asInteger(value)
  return whole === null ? null : integerToDouble(whole)
}

export function isNumber(value: Value): boolean {
  return value instanceof Float || asInteger(value) !== null
}

function integerToDouble(value: Integer): number {
  const converted = Number(value)
  if (!Number.isFinite(converted)) throw overflowError('int too large to convert to float')
  return converted
}

/** An index or a count: `int` or `bool`. Throws TypeError for anything else. */
export function toIndex(value: Value, what = 'an integer is required'): number {
  const whole = asInteger(value)
  if (whole === null) throw typeError(what)
  return typeof whole === 'bigint' ? (whole > 0n ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER) : whole
}

/** A number's exact text: shortest digits that read back, exponent form outside 1e-4 to 1e16. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa = '', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace('-', '').replace('.', '')
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
    return `${sign}${digits[0] ?? ''}${fraction}e${exponentTextOf(exponent)}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

/** An exponent as C prints it: a sign and at least two digits. */
export function exponentTextOf(exponent: number): string {
  return `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** Python refuses to print integers of more than 4300 digits. */
export function integerText(value: Integer): string {
  const text = value.toString()
  if (text.length > 4300 && text.replace('-', '').length > 4300) {
    throw valueError(
      'Exceeds the limit (4300 digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit',
    )
  }
  return text
}

/** The exact value of a finite float times 10^digits, rounded half to even, as an integer. */
export function scaledDecimal(value: number, digits: number): bigint {
  const [numerator, denominator] = exactFraction(value)
  const scale = 10n ** BigInt(Math.abs(digits))
  return digits >= 0 ? roundedQuotient(numerator * scale, denominator) : roundedQuotient(numerator, denominator * scale)
}

/** A finite float as numerator and positive denominator (a power of two). */
function exactFraction(value: number): [bigint, bigint] {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const exponentBits = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  const mantissa = exponentBits === 0 ? fraction : fraction | 0x10000000000000n
  const exponent = (exponentBits === 0 ? 1 : exponentBits) - 1075
  const signed = bits >> 63n === 1n ? -mantissa : mantissa
  return exponent >= 0 ? [signed << BigInt(exponent), 1n] : [signed, 1n << BigInt(-exponent)]
}

function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  const isNegative = numerator < 0n
  const magnitude = isNegative ? -numerator : numerator
  let quotient = magnitude / denominator
  const twice = (magnitude % denominator) * 2n
  if (twice > denominator || (twice === denominator && quotient % 2n === 1n)) quotient += 1n
  return isNegative ? -quotient : quotient
}

/** `round(integer, digits)` for negative digits: to the even multiple of a power of ten. */
export function roundInteger(value: Integer, digits: number): Integer {
  if (digits >= 0) return value
  const unit = 10n ** BigInt(-digits)
  return integer(roundedQuotient(BigInt(value), unit) * unit)
}

/** `round(float, digits)`: correctly rounded, ties of the exact value to even. */
export function roundFloat(value: number, digits: number): number {
  if (!Number.isFinite(value) || digits > 330) return value
  if (digits < -330) return value < 0 || Object.is(value, -0) ? -0 : 0
  const scaled = scaledDecimal(value, digits)
  const rounded = Number(`${scaled}e${-digits}`)
  if (!Number.isFinite(rounded)) throw overflowError('rounded value too large to represent')
  return scaled === 0n && (value < 0 || Object.is(value, -0)) ? -0 : rounded
}

/** `int(float)`. */
export function truncate(value: number): Integer {
  if (Number.isNaN(value)) throw valueError('cannot convert float NaN to integer')
  if (!Number.isFinite(value)) throw overflowError('cannot convert float infinity to integer')
  const whole = Math.trunc(value)
  return Number.isSafeInteger(whole) ? whole + 0 : BigInt(whole)
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**'

/** Arithmetic between numbers; null if one of them is no number. */
export function arithmetic(operator: ArithmeticOperator, left: Value, right: Value): Value | null {
  const a = asInteger(left)
  const b = asInteger(right)
  if (a !== null && b !== null) return integerArithmetic(operator, a, b)
  const x = asDouble(left)
  const y = asDouble(right)
  return x === null || y === null ? null : new Float(floatArithmetic(operator, x, y))
}

function integerArithmetic(operator: ArithmeticOperator, a: Integer, b: Integer): Value {
  switch (operator) {
    case '+':
      return exact(
        a,
        b,
        (x, y) => x + y,
        (x, y) => x + y,
      )
    case '-':
      return exact(
        a,
        b,
        (x, y) => x - y,
        (x, y) => x - y,
      )
    case '*':
      return exact(
        a,
        b,
        (x, y) => x * y,
        (x, y) => x * y,
      )
    case '/':
      return new Float(trueQuotient(a, b))
    case '//':
      return floorDivide(a, b).quotient
    case '%':
      return floorDivide(a, b).remainder
    default:
      return integerPower(a, b)
  }
}

function exact(
  a: Integer,
  b: Integer,
  small: (x: number, y: number) => number,
  large: (x: bigint, y: bigint) => bigint,
): Integer {
  if (typeof a === 'number' && typeof b === 'number') {
    const result = small(a, b)
    if (Number.isSafeInteger(result)) return result + 0
  }
  return integer(large(BigInt(a), BigInt(b)))
}

function trueQuotient(a: Integer, b: Integer): number {
  if (b === 0) throw zeroDivisionError('division by zero')
  if (typeof a === 'number' && typeof b === 'number') return a === 0 ? 0 : a / b
  return bigQuotient(BigInt(a), BigInt(b))
}

/** The correctly rounded quotient of two integers: 55 bits and a sticky bit, then one rounding. */
function bigQuotient(a: bigint, b: bigint): number {
  const isNegative = a < 0n !== b < 0n
  const numerator = a < 0n ? -a : a
  const denominator = b < 0n ? -b : b
  const shift = 66 - (numerator.toString(2).length - denominator.toString(2).length)
  const scaledNumerator = shift > 0 ? numerator << BigInt(shift) : numerator
  const scaledDenominator = shift < 0 ? denominator << BigInt(-shift) : denominator
  const quotient = scaledNumerator / scaledDenominator
  const sticky = scaledNumerator % scaledDenominator === 0n ? quotient : quotient | 1n
  const result = Number(sticky) * 2 ** -shift
  if (!Number.isFinite(result)) throw overflowError('integer division result too large for a float')
  return isNegative ? -result : result
}

function floorDivide(a: Integer, b: Integer): { quotient: Integer; remainder: Integer } {
  if (b === 0) throw zeroDivisionError('integer division or modulo by zero')
  if (typeof a === 'number' && typeof b === 'number') {
    let remainder = a % b
    let quotient = (a - remainder) / b
    if (remainder !== 0 && remainder < 0 !== b < 0) {
      remainder += b
      quotient -= 1
    }
    return { quotient: quotient + 0, remainder: remainder + 0 }
  }
  const x = BigInt(a)
  const y = BigInt(b)
  const remainder = x % y
  const isOff = remainder !== 0n && remainder < 0n !== y < 0n
  return {
    quotient: integer((x - remainder) / y - (isOff ? 1n : 0n)),
    remainder: integer(isOff ? remainder + y : remainder),
  }
}

const maxPowerBits = 1_000_000

function integerPower(a: Integer, b: Integer): Value {
  if (b < 0) {
    if (a === 0) throw zeroDivisionError('0.0 cannot be raised to a negative power')
    return new Float(floatPower(integerToDouble(a), integerToDouble(b)))
  }
  const base = BigInt(a)
  if (base === 0n || base === 1n) return b === 0 ? 1 : Number(base)
  if (base === -1n) return BigInt(b) % 2n === 0n ? 1 : -1
  const bits = base.toString(2).length * Number(b)
  if (bits > maxPowerBits) throw unsupported(`An integer power of about ${bits} bits`)
  return integer(base ** BigInt(b))
}

function floatArithmetic(operator: ArithmeticOperator, x: number, y: number): number {
  switch (operator) {
    case '+':
      return x + y
    case '-':
      return x - y
    case '*':
      return x * y
    case '/':
      if (y === 0) throw zeroDivisionError('float division by zero')
      return x / y
    case '//':
      return floatFloorDivide(x, y).quotient
    case '%':
      return floatFloorDivide(x, y).remainder
    default:
      return floatPower(x, y)
  }
}

/** CPython's `float_floor_div` and `float_rem`: the remainder has the divisor's sign. */
function floatFloorDivide(x: number, y: number): { quotient: number; remainder: number } {
  if (y === 0) throw zeroDivisionError('float floor division by zero')
  let remainder = x % y
  let quotient = (x - remainder) / y
  if (remainder !== 0) {
    if (remainder < 0 !== y < 0) {
      remainder += y
      quotient -= 1
    }
  } else {
    remainder = y < 0 ? -0 : 0
  }
  if (quotient === 0) return { quotient: x / y < 0 || Object.is(x / y, -0) ? -0 : 0, remainder }
  const floored = Math.floor(quotient)
  return { quotient: quotient - floored > 0.5 ? floored + 1 : floored, remainder }
}

/** Correctly rounded, which JavaScript's `**` is not: exact integers, then one division. */
function integerPowerOfFloat(x: number, y: number): number {
  const approximate = x ** y
  const magnitude = Math.abs(approximate)
  if (!(magnitude > 1e-290 && magnitude < 1e290)) return approximate
  const [numerator, denominator] = exactFraction(x)
  const exponent = BigInt(Math.abs(y))
  const [top, bottom] = [numerator ** exponent, denominator ** exponent]
  return y < 0 ? bigQuotient(bottom, top) : bigQuotient(top, bottom)
}

function floatPower(x: number, y: number): number {
  if (x === 1 || y === 0) return 1
  if (x === -1 && !Number.isFinite(y) && !Number.isNaN(y)) return 1
  if (x === 0 && y < 0) throw zeroDivisionError('0.0 cannot be raised to a negative power')
  if (x < 0 && Number.isFinite(x) && Number.isFinite(y) && !Number.isInteger(y)) throw unsupported('A complex number')
  const result = Number.isInteger(y) && Math.abs(y) <= 64 ? integerPowerOfFloat(x, y) : x ** y
  if (!Number.isFinite(result) && Number.isFinite(x) && Number.isFinite(y))
    throw overflowError("(34, 'Numerical result out of range')")
  return result
}

/** `-value` or `+value`; null if it is no number. */
export function signed(operator: '+' | '-', value: Value): Value | null {
  if (value instanceof Float) return operator === '-' ? new Float(-value.value) : value
  const whole = asInteger(value)
  if (whole === null) return null
  return operator === '+' ? whole : integerArithmetic('-', 0, whole)
}

/** Negative, zero or positive; NaN where a float is NaN; null if one of them is no number. Exact between int and float. */
export function compareNumbers(left: Value, right: Value): number | null {
  const a = left instanceof Float ? left.value : asInteger(left)
  const b = right instanceof Float ? right.value : asInteger(right)
  if (a === null || b === null) return null
  if (a < b) return -1
  if (a > b) return 1
  return a <= b ? 0 : Number.NaN
}
