import type { JsonValue } from '@agentrl/spec'
import type { IllFormedCode, RepairCode, WarningCode } from './codes.ts'
import { type JsonReading, parseJson, readJson } from './read-json.ts'
import {
  allowedLiterals,
  allowedTypes,
  arrayType,
  booleanType,
  checkSchema,
  fractionType,
  integerType,
  nullType,
  objectType,
  type Schema,
  stringType,
  type TypeSet,
} from './schema.ts'

/**
 * Untyped text, as XML dialects carry it, read by a schema. Decoding is not a
 * repair: the text says what it says, and the schema says in which type.
 *
 * - A schema that allows strings keeps the text, to the character. Where it
 *   allows the text and also what the text spells (`5` in string | integer),
 *   the text is kept and the union is reported; only `null` for a nullable
 *   string is null.
 * - Otherwise numbers are JSON numbers (the digits are kept), booleans are true
 *   and false in any case, containers are JSON or a Python literal.
 * - What does not fit stays text, verbatim, and is reported by the schema check.
 */
export interface TextReading {
  /** The value as JSON text, and what that says. */
  readonly json: string
  readonly value: JsonValue
  readonly repairs: readonly RepairCode[]
  readonly warning: WarningCode | null
  /** The value can't be part of a call at all. */
  readonly failure: IllFormedCode | null
}

/** A value that was read without a repair. */
function plainReading(json: string, value: JsonValue, warning: WarningCode | null = null): TextReading {
  return { json, value, repairs: [], warning, failure: null }
}

/** Reads a text by its schema. */
export function decodeText(text: string, schema: Schema, root: Schema): TextReading {
  const types = allowedTypes(schema, root)
  if (types === stringType) return asString(text)
  if ((types & stringType) === 0) return readTyped(text, types) ?? asString(text)
  if (types & nullType && text === 'null' && !allowsString(text, schema, root)) return plainReading('null', null)
  const typed = readTyped(text, types & ~stringType)
  if (typed === null || typed.failure !== null) return asString(text)
  const isStringFit = checkSchema(text, schema, root).errors.length === 0
  const isTypedFit = checkSchema(typed.value, schema, root).errors.length === 0
  if (!isStringFit && isTypedFit) return typed
  return plainReading(JSON.stringify(text), text, isTypedFit ? 'union_type' : null)
}

/** Whether an enum or a const names exactly this string. */
function allowsString(text: string, schema: Schema, root: Schema): boolean {
  return allowedLiterals(schema, root)?.includes(text) ?? false
}

/** The text itself. */
export function asString(text: string): TextReading {
  return plainReading(JSON.stringify(text), text)
}

/** Reads a text as one of some types other than string; null where it spells none of them. */
export function readTyped(text: string, types: TypeSet): TextReading | null {
  const trimmed = text.trim()
  const lower = trimmed.length <= 5 ? trimmed.toLowerCase() : ''
  if (types & nullType && (lower === 'null' || lower === 'none')) return plainReading('null', null)
  if (types & booleanType && (lower === 'true' || lower === 'false')) return plainReading(lower, lower === 'true')
  if (types & (integerType | fractionType)) {
    const number = readNumber(trimmed, types)
    if (number !== null) return number
  }
  return types & (arrayType | objectType) ? readContainer(trimmed, types) : null
}

const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const jsonInteger = /^-?(?:0|[1-9][0-9]*)$/

function readNumber(text: string, types: TypeSet): TextReading | null {
  if (text.length > 1024 || !jsonNumber.test(text)) return null
  const number = Number(text)
  if (!Number.isFinite(number)) return null
  if (types & fractionType || jsonInteger.test(text)) return plainReading(text, number)
  const isExact = Number.isSafeInteger(number)
  return isExact ? { ...plainReading(String(number), number), repairs: ['coerced_type'] } : null
}

function readContainer(text: string, types: TypeSet): TextReading | null {
  if (text.startsWith('"')) {
    const inner = parseJson(text)
    if (typeof inner !== 'string' || inner.startsWith('"')) return null
    const reading = readContainer(inner.trim(), types)
    return reading && { ...reading, repairs: ['double_encoded', ...reading.repairs] }
  }
  const isAllowed = (text.startsWith('[') && types & arrayType) || (text.startsWith('{') && types & objectType)
  if (!isAllowed) return null
  const reading = readJson(text)
  if (reading.kind === 'json') return ofJson(reading)
  return reading.code === 'too_deep' ? { ...asString(text), failure: 'too_deep' } : null
}

/** A value that was read as JSON. */
export function ofJson({ text, repairs }: JsonReading): TextReading {
  return { json: text, value: JSON.parse(text) as JsonValue, repairs, warning: null, failure: null }
}
