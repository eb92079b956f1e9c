import type { JsonValue } from '@agentrl/spec'
import type { IllFormedCode, RepairCode } from '../codes.ts'
import { decodeArguments } from '../decode-arguments.ts'
import { type CallReading, illFormedCall, nameCall } from '../decode-call.ts'
import type { CallSink, Dialect, EncodableCall, EncodableOutput, Reading } from '../dialect.ts'
import { isOver, isText } from '../json-region.ts'
import { type PythonCall, PythonScanner, readPythonCalls } from '../python-literals.ts'
import { entriesOf, keyOf, parseJson, valueText } from '../read-json.ts'
import { isJsonObject } from '../schema.ts'
import { needMore, type Source } from '../source.ts'

/**
 * Llama 3.2 and 4 with Python calls:
 *
 *     [read(path="a.py", limit=5), bash(command="ls")]
 *
 * Llama 4 may put `<|python_start|>` and `<|python_end|>` around it. Behind
 * other text, a list without them is a call only if it starts a line and ends
 * the output. Arguments have names: one without is ill-formed, not dropped.
 * Sources: vLLM `pythonic_tool_parser.py`, SGLang `pythonic_detector.py`.
 */
const start = '<|python_start|>'
const end = '<|python_end|>'
const lineStart = '\n['
const endTokens: readonly string[] = ['<|eot_id|>', '<|eom_id|>', '<|end_of_text|>', '<|eot|>', '<|eom|>']
const maxNameLength = 256

export const pythonic: Dialect = {
  openers: [start, lineStart],
  closers: [end],
  endTokens,
  judgeOpener: () => 'open',
  read: (source, sink) =>
    source.window.startsWith(start, source.index) ? readTagged(source, sink) : readLast(source, sink),
  bare: { mayStart: (code) => code === 91, read: readBare },
  encode,
}

function encode({ text, calls }: EncodableOutput): string {
  if (calls.length === 0) return text
  const list = `[${calls.map(encodeCall).join(', ')}]`
  return text === '' ? list : `${text}${start}${list}${end}`
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  const given = entriesOf(argumentsText).map((entry) => {
    const value = parseJson(valueText(argumentsText, entry))
    return `${keyOf(argumentsText, entry)}=${writeLiteral(value ?? null, valueText(argumentsText, entry))}`
  })
  return `${name}(${given.join(', ')})`
}

/** A JSON value as Python writes it; numbers keep their digits. */
function writeLiteral(value: JsonValue, text: string): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return text
  const items = entriesOf(text).map((entry) => {
    const item = valueText(text, entry)
    const literal = writeLiteral(parseJson(item) ?? null, item)
    return isJsonObject(value) ? `${text.slice(entry.keyStart, entry.keyEnd)}: ${literal}` : literal
  })
  return isJsonObject(value) ? `{${items.join(', ')}}` : `[${items.join(', ')}]`
}

function* readTagged(source: Source, sink: CallSink): Reading {
  source.index += start.length
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (code !== 91) return false
  const text = yield* readList(source)
  if (text === null) {
    sink.report(illFormedCall('truncated', source.captured()))
    return true
  }
  const behind = source.position
  const hasText = yield* isText(source, [end, ...endTokens])
  const length = hasText ? 0 : source.match(end)
  if (length > 0) source.index += length
  else source.rewindTo(behind)
  report(sink, readPythonCalls(text), text, length > 0 ? [] : ['missing_end_tag'])
  return true
}

/** A reply that starts with a list: calls, if its first name is known and nothing else follows its brackets. */
function* readBare(source: Source, sink: CallSink): Reading {
  const name = yield* readFirstName(source)
  if (name === null) return false
  const text = yield* readList(source)
  const calls = text === null ? 'truncated' : readPythonCalls(text)
  const isKnown = sink.tools.isKnown(name)
  if (!isKnown && typeof calls === 'string') return false
  const behind = source.position
  const hasText = yield* isText(source, endTokens)
  source.rewindTo(behind)
  if (!isKnown && hasText) return false
  report(sink, calls, text ?? source.captured(), hasText ? ['trailing_text'] : [])
  return true
}

/** A list that starts a line: calls, if they are valid and end the output. */
function* readLast(source: Source, sink: CallSink): Reading {
  source.index += 1
  const name = yield* readFirstName(source)
  if (name === null || !sink.tools.isKnown(name)) return false
  const text = yield* readList(source)
  const calls = text === null ? 'truncated' : readPythonCalls(text)
  if (typeof calls === 'string' || !(yield* isOver(source, endTokens))) return false
  const readings = calls.map((call) => decode(sink, call))
  if (!readings.every((reading) => reading.kind === 'call' && reading.schemaErrors.length === 0)) return false
  for (const reading of readings) sink.report(reading, { repairs: ['leading_text'] })
  return true
}

/** The name in `[NAME(`, and goes back to where it was; null if something else stands there. */
function* readFirstName(source: Source): Generator<undefined, string | null, undefined> {
  const from = source.position
  source.index += 1
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  const nameStart = source.position
  let isName = true
  while (isName && source.position - nameStart < maxNameLength) {
    while (source.index >= source.window.length && !source.isEnded) yield
    isName = /[\w.-]/.test(source.window.charAt(source.index))
    if (isName) source.index += 1
  }
  const captured = source.captured()
  const name = captured.slice(captured.length - (source.position - nameStart))
  for (code = source.skipSpace(); code === needMore; code = source.skipSpace()) yield
  source.rewindTo(from)
  return code === 40 && /^[A-Za-z_]/.test(name) ? name : null
}

/** The text of a list up to its closing bracket; null if the output ends inside it. */
function* readList(source: Source): Generator<undefined, string | null, undefined> {
  const from = source.position
  const scanner = new PythonScanner()
  for (;;) {
    source.index = scanner.feed(source.window, source.index, source.isEnded)
    if (scanner.isDone || source.isEnded) break
    yield
  }
  const captured = source.captured()
  return scanner.isDone ? captured.slice(captured.length - (source.position - from)) : null
}

function decode(sink: CallSink, call: PythonCall): CallReading {
  if (call.failure !== null) return illFormedCall(call.failure, call.name)
  const reading = nameCall(sink.tools, call.name, (tool) => decodeArguments(call.argumentsText, tool, call.repairs))
  return reading === 'unverified' ? illFormedCall('invalid_python', call.argumentsText) : reading
}

function report(
  sink: CallSink,
  calls: readonly PythonCall[] | IllFormedCode,
  text: string,
  repairs: readonly RepairCode[],
): void {
  if (typeof calls === 'string') sink.report(illFormedCall(calls, text))
  else for (const call of calls) sink.report(decode(sink, call), { repairs })
}
