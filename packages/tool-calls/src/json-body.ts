import type { RepairCode } from './codes.ts'
import { type CallReading, illFormedCall } from './decode-call.ts'
import { isForeignSpace, JsonScanner } from './json-scanner.ts'
import { type JsonReading, readJson, withoutFinalSpace } from './read-json.ts'
import { needMore, type Source } from './source.ts'

/** A JSON value between markers, read up to what follows it. */
export type JsonBody<Decoded extends CallReading | readonly CallReading[]> =
  | {
      readonly kind: 'decoded'
      readonly decoded: Decoded | CallReading
      /** The text as it was written. */
      readonly raw: string
      /** What was repaired around the value. */
      readonly repairs: readonly RepairCode[]
    }
  | {
      readonly kind: 'failure'
      readonly reading: CallReading
      /** From where on an end marker counts again: earlier ones are inside strings. */
      readonly recoverFrom: number
    }

/** How a JSON body is delimited, and what it means. */
export interface BodyRules<Decoded extends CallReading | readonly CallReading[]> {
  /** Markers that end a call: in front of one of them closing brackets may be missing, or left over. */
  readonly endMarkers: readonly string[]
  /** The markers that a call written as it should be ends in front of; none where it ends the output. */
  readonly closers: readonly string[]
  /** What a value means; `unverified` if it turns out not to be JSON. It is asked again with a careful reading. */
  decode(json: JsonReading): Decoded | 'unverified'
}

/** Below this, looking at every character is cheaper than an exception. */
const minUnreadLength = 1024
const maxVainTries = 16

type Step<Result> = Generator<undefined, Result, undefined>

/**
 * Reads the JSON value that starts at `source.index`, through any fence around
 * it, and stops at the first character behind it that belongs to neither.
 * The source's mark must lie at or before it.
 *
 * The text up to the first end marker is tried as it stands: `JSON.parse` is
 * faster than anything that could look at it. Otherwise a scanner follows its brackets and strings to find where it ends, and the whole
 * is read with care.
 */
export function* readJsonBody<Decoded extends CallReading | readonly CallReading[]>(
  source: Source,
  rules: BodyRules<Decoded>,
): Step<JsonBody<Decoded>> {
  const repairs: RepairCode[] = hasForeignSpace(spaceBefore(source.captured())) ? ['unicode_space'] : []
  const unread = decodeUnread(source, rules)
  if (unread !== null) return { kind: 'decoded', ...unread, repairs }
  const hasFence = yield* skipOpeningFence(source)
  if (hasFence) repairs.push('fence')
  const start = source.position
  const before = source.captured().length
  const scanner = new JsonScanner(false)
  for (;;) {
    source.index = scanner.feed(source.window, source.index, source.windowStart - start)
    if (scanner.isDone || scanner.failure !== null || source.isEnded) break
    yield
  }
  const lacksBrackets = yield* isMissingBrackets(source, scanner, rules.endMarkers)
  if (!scanner.isDone && !lacksBrackets) {
    // Strings before the last one were followed by valid structure: only the last may have swallowed a marker.
    const isString = scanner.failure !== 'too_deep' && (scanner.isInString || scanner.failure !== null)
    const recoverFrom = isString && scanner.lastStringStart > 0 ? start + scanner.lastStringStart : source.position
    const code = scanner.failure ?? 'truncated'
    return { kind: 'failure', reading: illFormedCall(code, source.captured().slice(before)), recoverFrom }
  }
  const captured = source.captured()
  const raw = captured.slice(before)
  const decoded = decodeScanned(raw, scanner, lacksBrackets, rules)
  yield* skipLeftovers(source, hasFence, repairs)
  if (hasForeignSpace(source.captured().slice(captured.length))) repairs.push('unicode_space')
  return { kind: 'decoded', decoded, raw, repairs }
}

/** The white space that ends a text. */
function spaceBefore(text: string): string {
  const before = text.slice(-64)
  return before.slice(before.trimEnd().length)
}

function hasForeignSpace(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (isForeignSpace(text.charCodeAt(index))) return true
  return false
}

/** Goes behind what may follow a value and says nothing: left-over brackets, a comment, the end of a fence. */
function* skipLeftovers(source: Source, hasFence: boolean, repairs: RepairCode[]): Step<void> {
  for (;;) {
    const code = source.skipSpace()
    if (code === needMore) yield
    else if (code === 125 || code === 93) {
      source.index += 1
      if (!repairs.includes('extra_bracket')) repairs.push('extra_bracket')
    } else if (code === 47 && (yield* skipComment(source))) repairs.push('comment')
    else if (code === 96 && (yield* matches(source, '```'))) {
      source.index += 3
      if (!hasFence) repairs.push('fence')
    } else return
  }
}

/** Goes behind a line comment, if there is one, and if it can't hold a marker. */
function* skipComment(source: Source): Step<boolean> {
  const start = source.position
  if (!(yield* matches(source, '//'))) return false
  for (;;) {
    while (source.index >= source.window.length && !source.isEnded) yield
    const code = source.window.charCodeAt(source.index)
    if (code === 10) return true
    if (code === 60 || code === 91 || Number.isNaN(code)) {
      source.rewindTo(start)
      return false
    }
    source.index += 1
  }
}

/** Tries what stands in front of the first end marker, without looking at it. */
function decodeUnread<Decoded extends CallReading | readonly CallReading[]>(
  source: Source,
  { closers, decode }: BodyRules<Decoded>,
): { decoded: Decoded; raw: string } | null {
  if (source.window.charCodeAt(source.index) !== 123) return null
  let end = closers.length === 0 && source.isEnded ? source.window.length : -1
  for (const closer of closers) {
    const found = source.find(closer)
    if (found >= 0 && (end < 0 || found < end)) end = found
  }
  if (end < 0) return null
  const text = withoutFinalSpace(source.window.slice(source.index, end))
  // An exception costs as much as looking at a short text: few of those are risked.
  if (text.length < minUnreadLength && source.vainTries >= maxVainTries) return null
  const decoded = decode({ kind: 'json', text, entries: null, repairs: [] })
  if (decoded === 'unverified' || !isEveryCall(decoded)) {
    source.vainTries += 1
    return null
  }
  source.index = end
  return { decoded, raw: text }
}

/** What is no call may have been refused before anybody looked at its arguments. */
function isEveryCall(decoded: CallReading | readonly CallReading[]): boolean {
  return 'kind' in decoded ? decoded.kind === 'call' : decoded.every((reading) => reading.kind === 'call')
}

function decodeScanned<Decoded extends CallReading | readonly CallReading[]>(
  raw: string,
  scanner: JsonScanner,
  lacksBrackets: boolean,
  { decode }: BodyRules<Decoded>,
): Decoded | CallReading {
  if (!scanner.hasDefect && !lacksBrackets && raw.length >= minUnreadLength) {
    const decoded = decode({ kind: 'json', text: raw, entries: scanner.entries, repairs: [] })
    if (decoded !== 'unverified') return decoded
  }
  const json = readJson(raw, lacksBrackets)
  if (json.kind === 'failure') return illFormedCall(json.code, raw)
  const decoded = decode(json)
  return decoded === 'unverified' ? illFormedCall('invalid_json', raw) : decoded
}

function* isMissingBrackets(source: Source, scanner: JsonScanner, endMarkers: readonly string[]): Step<boolean> {
  if (scanner.isDone || !scanner.lacksOnlyBrackets) return false
  for (;;) {
    const length = source.matchAny(endMarkers)
    if (length !== needMore) return length > 0
    yield
  }
}

function* matches(source: Source, marker: string): Step<boolean> {
  for (;;) {
    const length = source.match(marker)
    if (length !== needMore) return length > 0
    yield
  }
}

/** Skips "```json" and the like, with the line break behind it. */
function* skipOpeningFence(source: Source): Step<boolean> {
  if (!(yield* matches(source, '```'))) return false
  source.index += 3
  for (let length = 0; length < 16; length += 1) {
    while (source.index >= source.window.length && !source.isEnded) yield
    const code = source.window.charCodeAt(source.index)
    const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95
    if (!isLetter) break
    source.index += 1
  }
  while (source.skipSpace() === needMore) yield
  return true
}
