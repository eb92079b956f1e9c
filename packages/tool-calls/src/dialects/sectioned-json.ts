import type { RepairCode } from '../codes.ts'
import { withoutArguments } from '../decode-arguments.ts'
import { type CallReading, decodeNamedCall, illFormedCall, nameCall } from '../decode-call.ts'
import {
  type CallNotes,
  type CallSink,
  type Dialect,
  type EncodableCall,
  encodeBehindText,
  type Reading,
} from '../dialect.ts'
import { readJsonBody } from '../json-body.ts'
import { endMarkersOf, goToFirst, type RegionMarkers, readEnd, recover } from '../json-region.ts'
import { atEnd, needMore, type Source } from '../source.ts'

/**
 * Calls in a section, each a head and JSON arguments between markers:
 *
 *     section-open ( call-open HEAD separator ARGUMENTS call-close )* section-close
 *
 * Kimi K2 and DeepSeek V3 and V3.1 differ in their markers and in what the
 * head says.
 */
export interface SectionedRules {
  /** The first is the format's own; the others belong to other versions. */
  readonly sectionOpens: readonly [string, ...string[]]
  readonly sectionCloses: readonly [string, ...string[]]
  readonly callOpen: string
  readonly separator: string
  readonly callClose: string
  readonly endTokens: readonly string[]
  /** Whether a line with the name may stand between the separator and the arguments. */
  readonly mayNameFollow: boolean
  /** Reads what stands in front of the arguments; `line` is null where nothing stands behind the separator. */
  readHead(head: string, line: string | null): CallHead
  encodeCall(call: EncodableCall, index: number): string
}

export interface CallHead {
  readonly name: string
  readonly id: string | null
  readonly repairs: readonly RepairCode[]
  /** Whether the arguments stand in a code fence in this spelling of the call. */
  readonly hasFence: boolean
}

/** What arguments, a fence around them, or the marker behind missing ones start with. */
const argumentStarts = '{["`<'

/** The longest head. */
const maxHeadLength = 512

export function sectionedJson(rules: SectionedRules): Dialect {
  return {
    openers: [...rules.sectionOpens, rules.callOpen],
    closers: [...rules.sectionCloses, rules.callClose],
    endTokens: rules.endTokens,
    judgeOpener: () => 'open',
    read: (source, sink) => new SectionReader(rules, source, sink).read(),
    bare: null,
    encode: encodeBehindText(
      (calls) => `${rules.sectionOpens[0]}${calls.map(rules.encodeCall).join('')}${rules.sectionCloses[0]}`,
    ),
  }
}

type Step<Result> = Generator<undefined, Result, undefined>

class SectionReader {
  readonly #rules: SectionedRules
  readonly #source: Source
  readonly #sink: CallSink
  readonly #markers: RegionMarkers
  #repairs: RepairCode[] = []

  constructor(rules: SectionedRules, source: Source, sink: CallSink) {
    this.#rules = rules
    this.#source = source
    this.#sink = sink
    const { callOpen, callClose, sectionOpens, sectionCloses, endTokens } = rules
    this.#markers = {
      closers: [callClose],
      stops: [...sectionCloses, ...sectionOpens],
      restarts: [callOpen],
      endTokens,
    }
  }

  *read(): Reading {
    const source = this.#source
    const { sectionOpens, sectionCloses, callOpen } = this.#rules
    const opener = yield* this.#matchAny(sectionOpens)
    source.index += opener.length
    if (opener === '') this.#repairs.push('missing_start_tag')
    else if (opener !== sectionOpens[0]) this.#repairs.push('marker_variant')
    const first = yield* this.#look([callOpen, ...sectionCloses])
    if (first === null) this.#sink.report(illFormedCall('truncated', source.captured()))
    if (first === null || first === '') return first === null
    source.index += first.length
    if (first !== callOpen) return true
    for (;;) {
      const { reading, notes } = yield* this.#readCall()
      const next = yield* this.#lookBehindCall(opener !== '')
      this.#sink.report(reading, { ...notes, repairs: [...this.#repairs, ...(notes.repairs ?? [])] })
      if (next !== callOpen || this.#sink.isFull) return true
      this.#repairs = []
      yield* this.#look([callOpen])
      source.mark()
      source.index += callOpen.length
    }
  }

  /** The marker that comes next, white space skipped: empty for other text, null at the end. */
  *#look(markers: readonly string[]): Step<string | null> {
    for (let code = this.#source.skipSpace(); code !== atEnd; code = this.#source.skipSpace()) {
      if (code !== needMore) return yield* this.#matchAny(markers)
      yield
    }
    return null
  }

  *#matchAny(markers: readonly string[]): Step<string> {
    const source = this.#source
    let length = source.matchAny(markers)
    for (; length === needMore; length = source.matchAny(markers)) yield
    return source.window.slice(source.index, source.index + length)
  }

  /** Goes behind the end of the section, if it comes next. */
  *#lookBehindCall(isInSection: boolean): Step<string | null> {
    const source = this.#source
    const { callOpen, sectionCloses } = this.#rules
    const end = source.position
    const next = yield* this.#look([callOpen, ...sectionCloses])
    if (next !== null && sectionCloses.includes(next)) source.index += next.length
    else source.rewindTo(end)
    if (next === null || next === '') {
      if (isInSection) this.#repairs.push('missing_end_tag')
    } else if (next !== callOpen && next !== sectionCloses[0]) this.#repairs.push('marker_variant')
    return next
  }

  /** Reads a call behind its opening marker, and goes behind its closing one; or behind what could not be read. */
  *#readCall(): Step<{ reading: CallReading; notes: CallNotes }> {
    const source = this.#source
    const { separator, callClose, callOpen, sectionCloses } = this.#rules
    const start = source.position
    const marker = yield* goToFirst(source, [separator, callClose, callOpen, ...sectionCloses])
    const captured = source.captured()
    const head = captured.slice(captured.length - (source.position - start))
    if (marker === callClose && head.length <= maxHeadLength) {
      source.index += callClose.length
      const { name } = this.#rules.readHead(head, null)
      const reading = nameCall(this.#sink.tools, name, (tool) => withoutArguments(tool, []))
      return { reading: reading === 'unverified' ? illFormedCall('missing_arguments', head) : reading, notes: {} }
    }
    if (marker !== separator || head.length > maxHeadLength) {
      return { reading: illFormedCall(marker === '' ? 'truncated' : 'missing_name', head), notes: {} }
    }
    source.index += separator.length
    return yield* this.#readArguments(this.#rules.readHead(head, yield* this.#readLine()))
  }

  /** Reads what stands between the separator and the arguments, where anything may. */
  *#readLine(): Step<string | null> {
    const source = this.#source
    let code = source.skipSpace()
    for (; code === needMore; code = source.skipSpace()) yield
    const isArguments = code < 0 || argumentStarts.includes(String.fromCharCode(code))
    if (!this.#rules.mayNameFollow || isArguments) return null
    const start = source.position
    yield* goToFirst(source, ['\n', '{', '```', this.#rules.callClose])
    const captured = source.captured()
    return captured.slice(captured.length - (source.position - start))
  }

  *#readArguments(head: CallHead): Step<{ reading: CallReading; notes: CallNotes }> {
    const source = this.#source
    let code = source.skipSpace()
    for (; code === needMore; code = source.skipSpace()) yield
    const notes = head.id === null ? {} : { id: head.id }
    if ((yield* this.#matchAny([this.#rules.callClose])) !== '') {
      source.index += this.#rules.callClose.length
      const reading = nameCall(this.#sink.tools, head.name, (tool) => withoutArguments(tool, []))
      const isRead = reading !== 'unverified'
      return {
        reading: isRead ? reading : illFormedCall('missing_arguments', head.name),
        notes: { ...notes, repairs: head.repairs },
      }
    }
    const body = yield* readJsonBody(source, {
      endMarkers: endMarkersOf(this.#markers),
      closers: this.#markers.closers,
      decode: (json) => decodeNamedCall(this.#sink.tools, head.name, json),
    })
    if (body.kind === 'failure') {
      yield* recover(source, body.recoverFrom, this.#markers)
      return { reading: body.reading, notes }
    }
    for (code = source.skipSpace(); code === needMore; code = source.skipSpace()) yield
    const end = yield* readEnd(source, this.#markers)
    if (end === 'trailing') {
      return { reading: illFormedCall(code === 123 ? 'concatenated_arguments' : 'trailing_data', body.raw), notes }
    }
    const hasFence = body.repairs.includes('fence')
    const repairs: RepairCode[] = [...head.repairs, ...body.repairs.filter((repair) => repair !== 'fence')]
    if (head.hasFence !== hasFence) repairs.push(hasFence ? 'fence' : 'missing_fence')
    if (end === 'unclosed') repairs.push('missing_end_tag')
    return { reading: body.decoded, notes: { ...notes, repairs } }
  }
}
