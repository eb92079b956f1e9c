import type { JsonObject, JsonValue } from '@agentrl/spec'
import type { IllFormedCode, RepairCode } from './codes.ts'
import { type JsonEntry, JsonScanner, maxDepth } from './json-scanner.ts'

/** A JSON value as text. */
export interface JsonReading {
  readonly kind: 'json'
  readonly text: string
  /** Its outermost members; null where nothing has been looked at yet. */
  readonly entries: readonly JsonEntry[] | null
  readonly repairs: readonly RepairCode[]
}

/** Why a text is not JSON, and can't be made JSON. */
export interface JsonFailure {
  readonly kind: 'failure'
  readonly code: IllFormedCode
  /** Where, in UTF-16 units of the text. */
  readonly charStart: number
}

/** Reads a whole JSON value, repairing what has one reading. `lacksBrackets`: an end marker follows, so brackets may be added. */
export function readJson(
  text: string,
  lacksBrackets = false,
): (JsonReading & { readonly entries: readonly JsonEntry[] }) | JsonFailure {
  const scanner = new JsonScanner(true)
  const end = scanner.feed(text, 0, 0)
  scanner.end(text)
  if (scanner.failure !== null) return { kind: 'failure', code: scanner.failure, charStart: scanner.failedAt }
  if (!scanner.isDone) {
    if (!lacksBrackets || !scanner.lacksOnlyBrackets)
      return { kind: 'failure', code: 'truncated', charStart: text.length }
    scanner.closeBrackets(text.length)
  } else if (text.slice(end).trim() !== '') return { kind: 'failure', code: 'trailing_data', charStart: end }
  if (!scanner.hasDefect) return { kind: 'json', text, entries: scanner.entries, repairs: [] }
  const repaired = scanner.repairedText(text)
  return { kind: 'json', text: repaired, entries: entriesOf(repaired), repairs: [...scanner.repairs] }
}

/** The outermost members of a valid JSON value. */
export function entriesOf(text: string): readonly JsonEntry[] {
  const scanner = new JsonScanner(false)
  scanner.feed(text, 0, 0)
  return scanner.entries
}

/** The key of a member. */
export function keyOf(text: string, entry: JsonEntry): string {
  const raw = text.slice(entry.keyStart, entry.keyEnd)
  const key = raw.includes('\\') ? parseJson(raw) : raw.slice(1, -1)
  return typeof key === 'string' ? key : raw
}

/** The text of a member's value. */
export function valueText(text: string, entry: JsonEntry): string {
  return text.slice(entry.valueStart, entry.valueEnd)
}

/** What a text says as JSON; undefined where it is not JSON, or nests too deeply for whoever walks through it. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    const value = JSON.parse(text) as JsonValue
    return isTooDeep(text) ? undefined : value
  } catch {
    return undefined
  }
}

function isTooDeep(text: string): boolean {
  if (!hasManyBrackets(text)) return false
  const scanner = new JsonScanner(false)
  scanner.feed(text, 0, 0)
  return scanner.failure === 'too_deep'
}

/** Whether a text could nest too deeply: it seldom could. */
function hasManyBrackets(text: string): boolean {
  if (text.length <= maxDepth) return false
  let brackets = 0
  for (let index = 0; index < text.length && brackets <= maxDepth; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 0x5b || code === 0x7b) brackets += 1
  }
  return brackets > maxDepth
}

/** Whether a JSON text writes a key of one of its objects twice. @param value what the text says */
export function repeatsKey(text: string, value: JsonValue): boolean {
  const keys = countKeys(value)
  // Each key is written as a quote, white space and a colon. Strings may hold the same, so that there can be more.
  if (countQuotedColons(text) === keys || countColons(text) === keys) return false
  const scanner = new JsonScanner(false)
  scanner.feed(text, 0, 0)
  return scanner.keyCount > keys
}

/** How many colons follow a quote; -1 if white space stands before one. */
function countQuotedColons(text: string): number {
  let count = 0
  for (let index = text.indexOf(':'); index >= 0; index = text.indexOf(':', index + 1)) {
    const before = text.charCodeAt(index - 1)
    if (before === 34) count += 1
    else if (before <= 32) return -1
  }
  return count
}

function countColons(text: string): number {
  const colon = /"\s*:/g
  let count = 0
  while (colon.test(text)) count += 1
  return count
}

/** How many keys all objects in a value have. */
function countKeys(value: JsonValue): number {
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countKeys(item)
  } else if (typeof value === 'object' && value !== null) {
    for (const name in value) {
      count += 1
      const member = (value as JsonObject)[name]
      if (typeof member === 'object') count += countKeys(member)
    }
  }
  return count
}

/** A text without the white space behind it that JSON knows. */
export function withoutFinalSpace(text: string): string {
  let end = text.length
  while (end > 0 && ' \n\t\r'.includes(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}
