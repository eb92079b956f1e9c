import type { RepairCode } from '../codes.ts'
import { type CallReading, decodeEnvelopes, illFormedCall } from '../decode-call.ts'
import {
  type CallSink,
  type Dialect,
  type EncodableCall,
  encodeBehindText,
  type OpenerVerdict,
  type Reading,
} from '../dialect.ts'
import { type JsonBody, readJsonBody } from '../json-body.ts'
import { endMarkersOf, isOver, type RegionMarkers, readEnd, recover } from '../json-region.ts'
import { needMore, type Source } from '../source.ts'
import { readFunctionInstead } from './function-tags.ts'

/**
 * Hermes 2 and 3, Qwen2.5, Qwen3:
 *
 *     <tool_call>
 *     {"name": "read", "arguments": {"path": "a.py"}}
 *     </tool_call>
 *
 * One object for each pair of tags; types are those of JSON. Source: vLLM
 * `hermes_tool_parser.py`, SGLang `qwen25_detector.py`. Both find the end tag
 * by plain text; here a tag inside a string is part of the string.
 */
const opener = '<tool_call>'
const closer = '</tool_call>'
const endTokens: readonly string[] = ['<|im_end|>', '<|endoftext|>']
const markers: RegionMarkers = { closers: [closer], stops: [], restarts: [opener], endTokens }
const endMarkers = endMarkersOf(markers)
const rules = { argumentKeys: ['arguments'] } as const

/** What a body starts with: JSON, full-width and curly as well, a fence, or the tag of the sibling format. */
const bodyStarts = '{["“｛［`<'

function mayStartBody(code: number): boolean {
  return code >= 0 && bodyStarts.includes(String.fromCharCode(code))
}

/** Judges what stands right behind an opener; not a number at the end of the text. */
function judgeCode(code: number): OpenerVerdict {
  if (Number.isNaN(code)) return 'more'
  return mayStartBody(code) || code === 32 || (code >= 9 && code <= 13) || code > 127 ? 'open' : 'prose'
}

export const hermes: Dialect = {
  openers: [opener],
  closers: [closer],
  endTokens,
  judgeOpener: (_opener, window, index) => judgeCode(window.charCodeAt(index)),
  read: (source, sink) => readFunctionInstead(source, sink, readTagged),
  bare: { mayStart: (code) => code === 123 || code === 91, read: readBare },
  encode: encodeBehindText((calls) => calls.map(encodeCall).join('\n')),
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  return `${opener}\n{"name": ${JSON.stringify(name)}, "arguments": ${argumentsText}}\n${closer}`
}

type Body = JsonBody<readonly CallReading[]> & { readonly kind: 'decoded' }

function readBody(source: Source, sink: CallSink): Generator<undefined, JsonBody<readonly CallReading[]>, undefined> {
  return readJsonBody<readonly CallReading[]>(source, {
    endMarkers,
    closers: markers.closers,
    decode: (json) => decodeEnvelopes(sink.tools, rules, json),
  })
}

/** What a body is: calls, or why it is none. */
function readingsOf(body: Body): readonly CallReading[] {
  if ('kind' in body.decoded) return [body.decoded]
  return body.decoded.length > 0 ? body.decoded : [illFormedCall('missing_name', body.raw)]
}

function* readTagged(source: Source, sink: CallSink): Reading {
  source.index += opener.length
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (!mayStartBody(code) || code === 60) return false
  const bodies: Body[] = []
  for (;;) {
    const body = yield* readBody(source, sink)
    if (body.kind === 'failure') {
      yield* recover(source, body.recoverFrom, markers)
      sink.report(body.reading)
      return true
    }
    bodies.push(body)
    for (code = source.skipSpace(); code === needMore; code = source.skipSpace()) yield
    if (code !== 123) break
  }
  const afterBody = source.position
  const end = yield* readEnd(source, markers)
  if (end === 'closed') reportBodies(sink, bodies, [])
  else if (end === 'unclosed') reportBodies(sink, bodies, ['missing_end_tag'])
  else sink.report(illFormedCall('trailing_data', source.captured().slice(afterBody - source.position)))
  return true
}

/** Reports what stands between a pair of tags: one call, or several. */
function reportBodies(sink: CallSink, bodies: readonly Body[], repairs: readonly RepairCode[]): void {
  const [only, ...others] = bodies
  const readings = only !== undefined && others.length === 0 ? readingsOf(only) : bodies.flatMap(readingsOf)
  if (bodies.length > 1 && readings.some(isNameless)) {
    sink.report(illFormedCall('concatenated_arguments', bodies[0]?.raw ?? ''))
    return
  }
  const allRepairs = [...repairs, ...bodies.flatMap((body) => body.repairs)]
  if (readings.length > 1) allRepairs.push('several_calls')
  for (const reading of readings) sink.report(reading, { repairs: allRepairs })
}

function isNameless(reading: CallReading): boolean {
  return reading.kind === 'ill-formed' && reading.code === 'missing_name'
}

/** A reply that is nothing but one call, as models write it that were not taught the tags. */
function* readBare(source: Source, sink: CallSink): Reading {
  const body = yield* readBody(source, sink)
  if (body.kind === 'failure') return false
  const end = yield* readEnd(source, markers)
  if (end === 'trailing' || !(yield* isOver(source, endTokens))) return false
  const readings = readingsOf(body)
  const isCall = readings.every((reading) => reading.kind === 'call' && reading.schemaErrors.length === 0)
  if (!isCall) return false
  const repair = end === 'closed' ? 'missing_start_tag' : 'bare_call'
  for (const reading of readings) sink.report(reading, { repairs: [...body.repairs, repair] })
  return true
}
