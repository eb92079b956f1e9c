import type { RepairCode } from './codes.ts'
import { type CallReading, illFormedCall } from './decode-call.ts'
import { JsonScanner } from './json-scanner.ts'
import { type JsonReading, readJson, readSkimmed } from './read-json.ts'
import { needMore, type Source } from './source.ts'

/** A JSON value between markers, read up to what follows it. */
export type JsonBody =
  | {
      readonly kind: 'json'
      readonly json: JsonReading
      /** The text as it was written. */
      readonly raw: string
      readonly repairs: readonly RepairCode[]
    }
  | {
      readonly kind: 'failure'
      readonly reading: CallReading
      /** From where on an end marker counts again: earlier ones are inside strings. */
      readonly recoverFrom: number
    }

/** How a JSON body is delimited. */
export interface BodyRules {
  /** Markers that end a call: in front of one of them closing brackets may be missing, or left over. */
  readonly endMarkers: readonly string[]
}

/**
 * Reads the JSON value that starts at `source.index`, through any fence around
 * it, and stops at the first character behind it that belongs to neither.
 * The source's mark must lie at or before it.
 */
export function* readJsonBody(source: Source, rules: BodyRules): Generator<undefined, JsonBody, undefined> {
  const repairs: RepairCode[] = []
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
  const lacksBrackets = yield* isMissingBrackets(source, scanner, rules)
  if (!scanner.isDone && !lacksBrackets) {
    // Strings before the last one were followed by valid structure: only the last may have swallowed a marker.
    const isString = scanner.failure !== 'too_deep' && (scanner.isInString || scanner.failure !== null)
    const recoverFrom = isString && scanner.lastStringStart > 0 ? start + scanner.lastStringStart : source.position
    const code = scanner.failure ?? 'truncated'
    return { kind: 'failure', reading: illFormedCall(code, source.captured().slice(before)), recoverFrom }
  }
  const raw = source.captured().slice(before)
  const json = readSkimmed(raw, scanner, lacksBrackets)
  if (json.kind === 'failure') {
    return { kind: 'failure', reading: illFormedCall(json.code, raw), recoverFrom: source.position }
  }
  if (yield* skipExtraBrackets(source)) repairs.push('extra_bracket')
  if (hasFence || (yield* matches(source, '```'))) yield* skipClosingFence(source)
  return { kind: 'json', json, raw, repairs }
}

/** Reads a body's value again with care, when decoding it found that it is not JSON. */
export function decodeBody<Decoded>(
  body: JsonBody & { kind: 'json' },
  decode: (json: JsonReading) => Decoded | 'unverified',
): Decoded | CallReading {
  const decoded = decode(body.json)
  if (decoded !== 'unverified') return decoded
  const json = body.json.isVerified ? null : readJson(body.raw)
  if (json === null || json.kind === 'failure') return illFormedCall(json?.code ?? 'invalid_json', body.raw)
  const careful = decode(json)
  return careful === 'unverified' ? illFormedCall('invalid_json', body.raw) : careful
}

function* isMissingBrackets(
  source: Source,
  scanner: JsonScanner,
  rules: BodyRules,
): Generator<undefined, boolean, undefined> {
  if (scanner.isDone || !scanner.lacksOnlyBrackets) return false
  for (;;) {
    const length = source.matchAny(rules.endMarkers)
    if (length !== needMore) return length > 0
    yield
  }
}

function* matches(source: Source, marker: string): Generator<undefined, boolean, undefined> {
  for (;;) {
    const length = source.match(marker)
    if (length !== needMore) return length > 0
    yield
  }
}

/** Skips "```json" and the like, with the line break behind it. */
function* skipOpeningFence(source: Source): Generator<undefined, boolean, undefined> {
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

function* skipClosingFence(source: Source): Generator<undefined, void, undefined> {
  while (source.skipSpace() === needMore) yield
  if (yield* matches(source, '```')) source.index += 3
}

function* skipExtraBrackets(source: Source): Generator<undefined, boolean, undefined> {
  let hasExtra = false
  for (;;) {
    const code = source.skipSpace()
    if (code === needMore) yield
    else if (code === 125 || code === 93) {
      source.index += 1
      hasExtra = true
    } else return hasExtra
  }
}
