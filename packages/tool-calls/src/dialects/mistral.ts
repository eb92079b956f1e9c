import { type CallReading, decodeEnvelopes, decodeNamedCall, illFormedCall } from '../decode-call.ts'
import {
  type CallNotes,
  type CallSink,
  type Dialect,
  type EncodableCall,
  encodeBehindText,
  type Reading,
} from '../dialect.ts'
import { readJsonBody } from '../json-body.ts'
import { endMarkersOf, goToFirst, isText, type RegionMarkers, recover } from '../json-region.ts'
import { atEnd, needMore, type Source } from '../source.ts'

/**
 * Mistral, Devstral, Magistral; since tokenizer version 11, and before it:
 *
 *     text[TOOL_CALLS]read[ARGS]{"path": "a.py"}[TOOL_CALLS]bash[ARGS]{"command": "ls"}
 *     text[TOOL_CALLS] [{"name": "read", "arguments": {"path": "a.py"}}]
 *
 * Decoding may drop `[ARGS]`; `[CALL_ID]` and an id may stand before it. A call
 * has no end marker: it ends where its JSON does. vLLM (`mistral_tool_parser.py`)
 * takes all text up to the next `[TOOL_CALLS]` for arguments, also inside strings.
 */
const opener = '[TOOL_CALLS]'
const argumentsMarker = '[ARGS]'
const idMarker = '[CALL_ID]'
const endTokens: readonly string[] = ['</s>']
const markers: RegionMarkers = { closers: [], stops: [], restarts: [opener], endTokens }
const endMarkers = endMarkersOf(markers)
const rules = { argumentKeys: ['arguments'], hasId: true } as const
const toolName = /^[\w.:/-]{1,256}$/

function mistralDialect(encodeCalls: (calls: readonly EncodableCall[]) => string): Dialect {
  const encode = encodeBehindText(encodeCalls)
  return { openers: [opener], closers: [], endTokens, judgeOpener: () => 'open', read, bare: null, encode }
}

export const mistral: Dialect = mistralDialect((calls) => calls.map(encodeCall).join(''))

export const mistralPre11: Dialect = mistralDialect((calls) => {
  const envelopes = calls.map(({ name, argumentsText, id }) => {
    const idMember = id === undefined ? '' : `, "id": ${JSON.stringify(id)}`
    return `{"name": ${JSON.stringify(name)}, "arguments": ${argumentsText}${idMember}}`
  })
  return `${opener} [${envelopes.join(', ')}]`
})

function encodeCall({ name, argumentsText, id }: EncodableCall): string {
  return `${opener}${name}${id === undefined ? '' : `${idMarker}${id}`}${argumentsMarker}${argumentsText}`
}

function* read(source: Source, sink: CallSink): Reading {
  source.index += opener.length
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  const head = code === 123 || code === 91 ? yield* readListHead(source) : yield* readHead(source, sink)
  if (head === 'truncated') sink.report(illFormedCall('truncated', source.captured()))
  if (head === 'prose' || head === 'truncated') return head === 'truncated'
  const body = yield* readJsonBody<readonly CallReading[] | CallReading>(source, {
    endMarkers,
    closers: source.find(opener) < 0 ? [] : [opener],
    decode: (json) =>
      head === null ? decodeEnvelopes(sink.tools, rules, json) : decodeNamedCall(sink.tools, head.name, json),
  })
  if (body.kind === 'failure') {
    yield* recover(source, body.recoverFrom, markers)
    sink.report(body.reading)
    return true
  }
  const end = source.position
  if (head !== null && source.window.charCodeAt(source.index) === 123) {
    yield* recover(source, end, markers)
    sink.report(illFormedCall('concatenated_arguments', source.captured()))
    return true
  }
  const repairs = [...body.repairs]
  if (yield* isText(source, endMarkers)) repairs.push('trailing_text')
  source.rewindTo(end)
  const readings = 'kind' in body.decoded ? [body.decoded] : body.decoded
  const notes: CallNotes = head?.id == null ? { repairs } : { repairs, id: head.id }
  for (const reading of readings) sink.report(reading, notes)
  return true
}

interface Head {
  readonly name: string
  readonly id: string | null
}

/** A list of calls has no head; a call without a name has an empty one. */
function* readListHead(source: Source): Generator<undefined, Head | null, undefined> {
  let length = source.match(argumentsMarker)
  for (; length === needMore; length = source.match(argumentsMarker)) yield
  source.index += length
  return length === 0 ? null : { name: '', id: null }
}

/** Reads the name, and the id where there is one, up to the arguments. */
function* readHead(source: Source, sink: CallSink): Generator<undefined, Head | 'prose' | 'truncated', undefined> {
  const start = source.position
  yield* goToFirst(source, ['{', '[', '\n'])
  const name = capturedFrom(source, start).trim()
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (code === atEnd) return name === '' || (toolName.test(name) && sink.tools.isKnown(name)) ? 'truncated' : 'prose'
  if (!toolName.test(name)) return 'prose'
  let id: string | null = null
  let length = source.matchAny([argumentsMarker, idMarker])
  for (; length === needMore; length = source.matchAny([argumentsMarker, idMarker])) yield
  if (length === idMarker.length) {
    source.index += length
    const idStart = source.position
    yield* goToFirst(source, [argumentsMarker, '{'])
    id = capturedFrom(source, idStart).trim()
    length = source.matchAny([argumentsMarker])
  }
  source.index += length
  for (code = source.skipSpace(); code === needMore; code = source.skipSpace()) yield
  return code === 123 || length > 0 ? { name, id } : 'prose'
}

function capturedFrom(source: Source, position: number): string {
  const captured = source.captured()
  return captured.slice(captured.length - (source.position - position))
}
