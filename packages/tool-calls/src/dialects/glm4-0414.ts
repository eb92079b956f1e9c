import type { RepairCode } from '../codes.ts'
import { decodeNamedCall } from '../decode-call.ts'
import type { CallSink, Dialect, EncodableOutput, LateOpener, Reading } from '../dialect.ts'
import { readJsonBody } from '../json-body.ts'
import { endMarkersOf, goToFirst, isOver, isText, type RegionMarkers, recover } from '../json-region.ts'
import { needMore, type Source } from '../source.ts'

/**
 * GLM-4-0414: a line with the name, then the arguments, and nothing else.
 *
 *     get_weather
 *     {"city": "Paris"}
 *
 * Behind other text this is a call only if it starts a line and ends the
 * output. Source: the model card's own parser.
 */
const turn = '<|assistant|>'
const lineStart = '\n'
const endTokens: readonly string[] = ['<|observation|>', '<|user|>', '<|endoftext|>']
const markers: RegionMarkers = { closers: [], stops: [turn], restarts: [], endTokens }
const endMarkers = endMarkersOf(markers)
const maxNameLength = 256

/** Behind other text, what tells a call is the object behind a line that is a name. */
const lineOpener: LateOpener = {
  opener: `${lineStart}{`,
  startOf: nameLineBefore,
  tailStart: (window, from) => {
    const isLineEnd = window.endsWith(lineStart)
    const end = isLineEnd ? window.length - 1 : window.length
    const start = nameLineBefore(window, from, end)
    return start < 0 ? end : start
  },
}

export const glm40414: Dialect = {
  openers: [turn],
  lateOpener: lineOpener,
  closers: [],
  endTokens,
  judgeOpener: () => 'open',
  read: (source, sink) =>
    source.window.startsWith(turn, source.index) ? readTurn(source, sink) : readLast(source, sink),
  bare: { mayStart: isNameCharacter, read: (source, sink) => readCall(source, sink, false) },
  encode,
}

function encode({ text, calls }: EncodableOutput): string {
  const parts = calls.map(({ name, argumentsText }) => `${name}\n${argumentsText}`)
  return (text === '' ? parts : [text, ...parts]).join(turn)
}

function isNameCharacter(code: number): boolean {
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90)
  return isLetter || (code >= 48 && code <= 57) || code === 95 || code === 45 || code === 46
}

/** Where the line break stands behind which a name reaches up to `end`; -1 without one. */
function nameLineBefore(window: string, from: number, end: number): number {
  let index = end
  while (index > from && end - index < maxNameLength && isNameCharacter(window.charCodeAt(index - 1))) index -= 1
  return index < end && index > from && window.charCodeAt(index - 1) === 10 ? index - 1 : -1
}

/** Another part of the turn: a call, or text, in front of which the token says nothing. */
function* readTurn(source: Source, sink: CallSink): Reading {
  source.index += turn.length
  const start = source.position
  if (!(yield* readCall(source, sink, false))) source.rewindTo(start)
  return true
}

function* readLast(source: Source, sink: CallSink): Reading {
  source.index += lineStart.length
  return yield* readCall(source, sink, true)
}

function* readCall(source: Source, sink: CallSink, mustEndOutput: boolean): Reading {
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (!isNameCharacter(code)) return false
  const start = source.position
  const found = yield* goToFirst(source, ['\n', ' '])
  const captured = source.captured()
  const name = captured.slice(captured.length - (source.position - start))
  if (found !== '\n' || name.length > maxNameLength || !sink.tools.isKnown(name)) return false
  for (code = source.skipSpace(); code === needMore; code = source.skipSpace()) yield
  if (code !== 123) return false
  const body = yield* readJsonBody(source, {
    endMarkers,
    closers: [],
    decode: (json) => decodeNamedCall(sink.tools, name, json),
  })
  if (body.kind === 'failure') {
    if (mustEndOutput) return false
    yield* recover(source, body.recoverFrom, markers)
    sink.report(body.reading)
    return true
  }
  const reading = body.decoded
  const isValid = reading.kind === 'call' && reading.schemaErrors.length === 0
  if (mustEndOutput && !(isValid && (yield* isOver(source, endTokens)))) return false
  const end = source.position
  const repairs: RepairCode[] = [...body.repairs]
  if (mustEndOutput) repairs.push('leading_text')
  if (yield* isText(source, endMarkers)) repairs.push('trailing_text')
  source.rewindTo(end)
  sink.report(reading, { repairs })
  return true
}
