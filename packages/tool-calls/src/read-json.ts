import type { JsonValue } from '@agentrl/spec'
import type { IllFormedCode, RepairCode } from './codes.ts'
import { type JsonEntry, JsonScanner } from './json-scanner.ts'

/** A JSON value as text, with its outermost members found. */
export interface JsonReading {
  readonly kind: 'json'
  /** Valid JSON once `isVerified`. */
  readonly text: string
  readonly entries: readonly JsonEntry[]
  /** Keys of all objects. */
  readonly keyCount: number
  readonly repairs: readonly RepairCode[]
  /** False: brackets and quotes match, but no string has been looked into. */
  readonly isVerified: boolean
}

/** Why a text is not JSON, and can't be made JSON. */
export interface JsonFailure {
  readonly kind: 'failure'
  readonly code: IllFormedCode
  /** Where, in UTF-16 units of the text. */
  readonly charStart: number
}

/** Below this, looking at every character is cheaper than an exception. */
const minUnverifiedLength = 1024

/**
 * What a scanner that skimmed a whole value knows of it. Long values without a
 * defect outside their strings are left to `JSON.parse` to verify.
 */
export function readSkimmed(text: string, scanner: JsonScanner, lacksBrackets: boolean): JsonReading | JsonFailure {
  if (scanner.hasDefect || lacksBrackets || text.length < minUnverifiedLength) return readJson(text, lacksBrackets)
  return { kind: 'json', text, entries: scanner.entries, keyCount: scanner.keyCount, repairs: [], isVerified: false }
}

/** Reads a whole JSON value, repairing what has one reading. `lacksBrackets`: an end marker follows, so brackets may be added. */
export function readJson(text: string, lacksBrackets = false): JsonReading | JsonFailure {
  const scanner = new JsonScanner(true)
  const end = scanner.feed(text, 0, 0)
  scanner.end(text.length)
  if (scanner.failure !== null) return { kind: 'failure', code: scanner.failure, charStart: scanner.failedAt }
  if (!scanner.isDone) {
    if (!lacksBrackets || !scanner.lacksOnlyBrackets)
      return { kind: 'failure', code: 'truncated', charStart: text.length }
    scanner.closeBrackets(text.length)
  } else if (text.slice(end).trim() !== '') return { kind: 'failure', code: 'trailing_data', charStart: end }
  const { keyCount, hasDefect } = scanner
  if (!hasDefect) return { kind: 'json', text, entries: scanner.entries, keyCount, repairs: [], isVerified: true }
  const repaired = scanner.repairedText(text)
  const entries = entriesOf(repaired)
  return { kind: 'json', text: repaired, entries, keyCount, repairs: [...scanner.repairs], isVerified: true }
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

/** What a text says as JSON; undefined where it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}
