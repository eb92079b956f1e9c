import type { RepairCode } from '../codes.ts'
import { withoutArguments } from '../decode-arguments.ts'
import { type CallReading, decodeNamedCall, illFormedCall, nameCall } from '../decode-call.ts'
import type { CallSink, Dialect, EncodableCall, EncodableOutput, Reading } from '../dialect.ts'
import { readJsonBody } from '../json-body.ts'
import { goToFirst, type RegionMarkers, readEnd, recover } from '../json-region.ts'
import { needMore, type Source } from '../source.ts'

/**
 * gpt-oss (Harmony): the output is a row of messages, each with a header.
 *
 *     <|channel|>analysis<|message|>plan<|end|>
 *     <|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.py"}<|call|>
 *
 * A header with a recipient makes a call, in any channel; `analysis` without
 * one is reasoning, every other message is text. The recipient may stand before
 * or behind the channel. Only the namespace `functions` is the client's.
 * `<|call|>` and `<|return|>` end the turn and may be missing. Source: SGLang
 * `gpt_oss_detector.py`, `harmony_parser.py`.
 */
const start = '<|start|>'
const channel = '<|channel|>'
const message = '<|message|>'
const constrain = '<|constrain|>'
const ends: readonly string[] = ['<|end|>', '<|call|>', '<|return|>']
const headerMarkers: readonly string[] = [message, channel, constrain, start, ...ends]
const bodyEnds: readonly string[] = [...ends, start, channel]
const markers: RegionMarkers = { closers: ends, stops: [start, channel], restarts: [], endTokens: [] }
const longestEnd = channel.length
const channels: readonly string[] = ['analysis', 'commentary', 'final']
const maxHeaderLength = 1024
const recipient = /(?:^|\s)to=(\S+)/
const namespace = 'functions.'

export const gptOss: Dialect = {
  openers: [start, channel],
  closers: [],
  endTokens: ['<|return|>', '<|call|>', '<|end|>'],
  judgeOpener: () => 'open',
  read: readMessage,
  bare: { mayStart: (code) => code === 116, read: readBare },
  encode: encodeOutput,
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  return `${channel}commentary to=${namespace}${name} ${constrain}json${message}${argumentsText}<|call|>`
}

/** Text in front of calls is a preamble, text alone the answer. */
function encodeOutput({ reasoning, text, calls }: EncodableOutput): string {
  const messages: string[] = []
  if (reasoning !== '') messages.push(`${channel}analysis${message}${reasoning}<|end|>`)
  if (text !== '' && calls.length > 0) messages.push(`${channel}commentary${message}${text}<|end|>`)
  if (text !== '' && calls.length === 0) messages.push(`${channel}final${message}${text}<|return|>`)
  return [...messages, ...calls.map(encodeCall)].join(`${start}assistant`)
}

interface Header {
  readonly channel: string
  /** Empty without one. */
  readonly recipient: string
  readonly repairs: readonly RepairCode[]
}

type Step<Result> = Generator<undefined, Result, undefined>

/** An output whose role header was part of the prompt, and that goes on with the recipient. */
function* readBare(source: Source, sink: CallSink): Reading {
  let length = source.match('to=')
  for (; length === needMore; length = source.match('to=')) yield
  return length > 0 && (yield* readMessage(source, sink))
}

function* readMessage(source: Source, sink: CallSink): Reading {
  const header = yield* readHeader(source)
  if (header === 'prose') return false
  if (header === 'truncated') sink.report(illFormedCall('truncated', source.captured()))
  else if (header !== 'empty' && header.recipient !== '') yield* readCall(source, sink, header)
  else if (header !== 'empty') yield* sayMessage(source, header.channel === 'analysis' ? sink.reasoning : sink.text)
  return true
}

/** Reads a header from its first marker, or from a recipient, to behind `<|message|>`. */
function* readHeader(source: Source): Step<Header | 'prose' | 'truncated' | 'empty'> {
  const begin = source.position
  const header = { channel: '', recipient: '', repairs: [] as RepairCode[] }
  let marker = source.matchAny([start, channel]) > 0 ? '' : start
  for (;;) {
    const from = source.position
    const next = yield* goToFirst(source, headerMarkers)
    const part = capturedFrom(source, from)
    if (source.position - begin > maxHeaderLength) return 'prose'
    if (marker === channel) {
      const name = channels.includes(part) ? part : (part.trim().split(/\s/, 1)[0] ?? '')
      if (!channels.includes(name) && next !== message) return next === '' && isChannelStart(name) ? 'empty' : 'prose'
      if (header.channel !== '') header.repairs.push('bad_header')
      header.channel = name
    }
    const mayName = (marker === start || marker === channel) && part.includes('to=')
    const to = mayName ? recipient.exec(part)?.[1] : undefined
    if (to !== undefined) header.recipient = to
    if (next === '') return header.recipient === '' ? 'empty' : 'truncated'
    if (ends.includes(next) || (next === start && marker !== '')) return 'prose'
    source.index += next.length
    marker = next
    if (next === message) return header
  }
}

function isChannelStart(name: string): boolean {
  return channels.some((known) => known.startsWith(name))
}

function capturedFrom(source: Source, position: number): string {
  const captured = source.captured()
  return captured.slice(captured.length - (source.position - position))
}

/** Says a message as it comes, up to what ends it. */
function* sayMessage(source: Source, say: (text: string) => void): Step<void> {
  say('\n')
  for (;;) {
    source.mark()
    const { window } = source
    const from = source.index
    let end = window.length
    for (const marker of bodyEnds) {
      const found = source.find(marker)
      if (found >= 0 && found < end) end = found
    }
    const isFound = end < window.length
    if (!isFound && !source.isEnded) end = Math.max(from, window.length - longestEnd + 1)
    source.index = end
    if (end > from) say(window.slice(from, end))
    if (isFound || source.isEnded) break
    yield
  }
  const length = source.matchAny(ends)
  source.index += Math.max(length, 0)
}

function* readCall(source: Source, sink: CallSink, header: Header): Step<void> {
  const { recipient: to } = header
  const isClient = to.startsWith(namespace)
  const name = isClient ? to.slice(namespace.length) : to
  const repairs: RepairCode[] = isClient ? [...header.repairs] : [...header.repairs, 'tool_name']
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  const hasNothing = code === 60 && (yield* isEnd(source))
  if (hasNothing) {
    const reading = nameCall(sink.tools, name, (tool) => withoutArguments(tool, []))
    yield* readEnd(source, markers)
    sink.report(reading === 'unverified' ? illFormedCall('missing_arguments', name) : reading, { repairs })
    return
  }
  const body = yield* readJsonBody(source, {
    endMarkers: bodyEnds,
    closers: ends,
    decode: (json) => decodeNamedCall(sink.tools, name, json),
  })
  if (body.kind === 'failure') {
    yield* recover(source, body.recoverFrom, markers)
    sink.report(body.reading)
    return
  }
  const isConcatenated = source.window.charCodeAt(source.index) === 123
  const end = yield* readEnd(source, markers)
  const isOutputEnd = source.isEnded && source.index === source.window.length
  if (end === 'unclosed' && !isOutputEnd) repairs.push('missing_end_tag')
  const reading: CallReading =
    end === 'trailing'
      ? illFormedCall(isConcatenated ? 'concatenated_arguments' : 'trailing_data', body.raw)
      : body.decoded
  sink.report(reading, { repairs: [...repairs, ...body.repairs] })
}

function* isEnd(source: Source): Step<boolean> {
  let length = source.matchAny(bodyEnds)
  for (; length === needMore; length = source.matchAny(bodyEnds)) yield
  return length > 0
}
