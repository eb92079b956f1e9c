import type { RepairCode } from '../codes.ts'
import { argumentKeys } from '../decode-arguments.ts'
import { type CallReading, decodeEnvelopes, illFormedCall } from '../decode-call.ts'
import type { CallSink, Dialect, EncodableCall, EncodableOutput, Reading } from '../dialect.ts'
import { type JsonBody, readJsonBody } from '../json-body.ts'
import { endMarkersOf, isOver, isText, type RegionMarkers, recover } from '../json-region.ts'
import { entriesOf, keyOf } from '../read-json.ts'
import { needMore, type Source } from '../source.ts'

/**
 * Llama 3.1, 3.2 and 4 with JSON calls, several joined by `; `:
 *
 *     <|python_tag|>{"name": "read", "parameters": {"path": "a.py"}}
 *
 * The tag is optional where the reply starts with the call. Behind other text,
 * an object without the tag is a call only if it starts a line and ends the
 * output. Sources: vLLM `llama_tool_parser.py`, SGLang `llama32_detector.py`.
 */
const tag = '<|python_tag|>'
const lineStart = '\n{'
const separator = ';'
const endTokens: readonly string[] = ['<|eot_id|>', '<|eom_id|>', '<|end_of_text|>', '<|eot|>', '<|eom|>']
const markers: RegionMarkers = { closers: [], stops: [], restarts: [tag], endTokens: [separator, ...endTokens] }
const endMarkers = endMarkersOf(markers)
const rules = { argumentKeys: ['parameters', 'arguments'] } as const

export const llama3Json: Dialect = {
  openers: [tag, lineStart],
  closers: [],
  endTokens,
  judgeOpener: () => 'open',
  read: (source, sink) =>
    source.window.startsWith(tag, source.index) ? readTagged(source, sink) : readLast(source, sink),
  bare: { mayStart: (code) => code === 123 || code === 91, read: readBare },
  encode,
}

function encode({ text, calls }: EncodableOutput): string {
  if (calls.length === 0) return text
  return `${text}${text === '' ? '' : tag}${calls.map(encodeCall).join(`${separator} `)}`
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  return `{"name": ${JSON.stringify(name)}, "parameters": ${argumentsText}}`
}

/** Reads an object, or a list of them: the calls that it is. */
function readCalls(source: Source, sink: CallSink): Generator<undefined, JsonBody<readonly CallReading[]>, undefined> {
  return readJsonBody<readonly CallReading[]>(source, {
    endMarkers,
    closers: [],
    decode: (json) => decodeEnvelopes(sink.tools, rules, json),
  })
}

/** What a body is: calls, or why it is none. */
function readingsOf(body: { decoded: readonly CallReading[] | CallReading; raw: string }): readonly CallReading[] {
  if ('kind' in body.decoded) return [body.decoded]
  return body.decoded.length > 0 ? body.decoded : [illFormedCall('missing_name', body.raw)]
}

function* readTagged(source: Source, sink: CallSink): Reading {
  source.index += tag.length
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (code !== 123 && code !== 91) return false
  yield* readRest(source, sink)
  return true
}

/** A reply that starts with an object: a call if it names a tool and gives arguments, or tries to. */
function* readBare(source: Source, sink: CallSink): Reading {
  const start = source.position
  const body = yield* readCalls(source, sink)
  const isCall =
    body.kind === 'decoded' ? readingsOf(body).every((call) => isMeant(call, body.raw)) : isCut(source, sink)
  source.rewindTo(start)
  if (!isCall) return false
  yield* readRest(source, sink)
  return true
}

/** An object that starts a line: a call if it is valid and ends the output. */
function* readLast(source: Source, sink: CallSink): Reading {
  source.index += 1
  const body = yield* readCalls(source, sink)
  if (body.kind === 'failure' || !(yield* isOver(source, endTokens))) return false
  const readings = readingsOf(body)
  if (!readings.every((reading) => reading.kind === 'call' && reading.schemaErrors.length === 0)) return false
  for (const reading of readings) sink.report(reading, { repairs: [...body.repairs, 'leading_text'] })
  return true
}

function isMeant(call: CallReading, text: string): boolean {
  if (call.kind === 'call') return true
  if (call.code !== 'unknown_tool') return call.code !== 'missing_name'
  return entriesOf(text).some((entry) => argumentKeys.includes(keyOf(text, entry)))
}

/** Whether what could not be read starts as a call of a declared tool does. */
function isCut(source: Source, sink: CallSink): boolean {
  const name = /^\{\s{0,8}"name"\s{0,8}:\s{0,8}"([^"\\]{1,256})"/.exec(source.captured().slice(0, 400))?.[1]
  return name !== undefined && sink.tools.isKnown(name)
}

/** Calls up to the end of the turn, or to text that is none. */
function* readRest(source: Source, sink: CallSink): Generator<undefined, void, undefined> {
  for (;;) {
    const body = yield* readCalls(source, sink)
    if (body.kind === 'failure') {
      yield* recover(source, body.recoverFrom, markers)
      sink.report(body.reading)
      return
    }
    const end = source.position
    const next = yield* lookBehind(source)
    source.rewindTo(end)
    const repairs: RepairCode[] = [...body.repairs]
    if (next === 'text') repairs.push('trailing_text')
    if (next === 'unseparated') repairs.push('several_calls')
    for (const reading of readingsOf(body)) sink.report(reading, { repairs })
    if ((next !== 'call' && next !== 'unseparated') || sink.isFull) return
    yield* lookBehind(source)
    source.mark()
  }
}

/** What follows a call. Goes to the object where that is another call. */
function* lookBehind(source: Source): Generator<undefined, 'call' | 'unseparated' | 'text' | 'end', undefined> {
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (code === 123) return 'unseparated'
  if (code === 59) {
    source.index += 1
    for (code = source.skipSpace(); code === needMore; code = source.skipSpace()) yield
    return code === 123 ? 'call' : 'text'
  }
  return (yield* isText(source, endMarkers)) ? 'text' : 'end'
}
