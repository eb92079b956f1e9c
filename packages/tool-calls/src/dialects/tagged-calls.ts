import type { IllFormedCode, RepairCode } from '../codes.ts'
import { type CallReading, decodeNamedCall, illFormedCall, nameCall } from '../decode-call.ts'
import { decodeParameters, type WrittenParameter } from '../decode-parameters.ts'
import type { CallSink, Reading } from '../dialect.ts'
import { readJsonBody } from '../json-body.ts'
import { JsonScanner } from '../json-scanner.ts'
import { allowedTypes, arrayType, memberSchema, objectType, stringType } from '../schema.ts'
import { atEnd, needMore, type Source } from '../source.ts'
import { hasParameter } from '../tool-index.ts'
import { readTag, type Tag, type TagGrammar, type TagKind } from './tag-grammar.ts'

/**
 * Calls written in tags with untyped values between them:
 *
 *     wrapper-open? ( call-open ( parameter-open VALUE parameter-close )* call-close )+ wrapper-close?
 *
 * Values have no escapes, so where one ends is a matter of rules:
 *
 * 1. The tag that closes a value counts only when structure follows it (white
 *    space, then another parameter or the end of the call); else it is content.
 * 2. A value without its own close tag ends at the end of its call, or at the
 *    next declared parameter that starts a line, where the layout leaves no
 *    doubt about its last character.
 * 3. A call inside a value is either quoted, or the value was cut and the
 *    model began anew. Nobody can tell, so neither is called.
 */
export interface TaggedDialect {
  readonly grammar: TagGrammar
  /** Whether exactly one line break on each side of a value is layout. Otherwise values are verbatim. */
  readonly hasLayoutBreaks: boolean
  /** Whether calls stand in a wrapper. */
  readonly hasWrapper: boolean
  /** What stands in front of each call's opening tag, and behind its closing tag. */
  readonly callPrefix: string | null
  readonly callSuffix: string | null
  /** Whether a JSON object in place of the parameters is part of the format, or the fallback of a model. */
  readonly json: 'native' | 'repaired'
}

/** Reads what starts with a wrapper's or a call's opening tag at `source.index`. False: it is prose. */
export function readTaggedCalls(dialect: TaggedDialect, source: Source, sink: CallSink): Reading {
  return new TaggedReader(dialect, source, sink).read()
}

const maxParameters = 1024

/** Why a call can't be read on, and how to go on behind it. */
interface Failure {
  readonly failure: IllFormedCode
  /** `here`: at the next tag. `close`: behind the end of the call. */
  readonly resume: 'here' | 'close'
  /** Where calls inside the call are counted from, so that the end of one is not taken for that of the call. */
  readonly nestedFrom: number | null
}

interface Value {
  readonly start: number
  readonly end: number
}

interface Parameter extends Value {
  readonly name: string
  readonly isText: boolean | null
}

type Step<Result> = Generator<undefined, Result, undefined>

/** What stands at a place, white space aside. */
type Place = Tag | 'text' | 'end'

function isTag(place: Place, first: TagKind, second: TagKind = first, third: TagKind = first): place is Tag {
  return typeof place === 'object' && (place.kind === first || place.kind === second || place.kind === third)
}

function followsCall(place: Place): boolean {
  return place === 'end' || isTag(place, 'wrapper-close', 'wrapper-open', 'call-open')
}

function isFailure(value: object): value is Failure {
  return 'failure' in value
}

class TaggedReader {
  readonly #dialect: TaggedDialect
  readonly #source: Source
  readonly #sink: CallSink
  #repairs = new Set<RepairCode>()
  #isBare = false
  #sawLiteralNewline = false
  /** What was read last, and where. */
  #tag: Tag | 'text' = 'text'
  #tagAt = -1

  constructor(dialect: TaggedDialect, source: Source, sink: CallSink) {
    this.#dialect = dialect
    this.#source = source
    this.#sink = sink
  }

  *read(): Reading {
    const source = this.#source
    if (this.#dialect.hasWrapper) yield* this.#readWrapper()
    let tag = yield* this.#lookForCall()
    if (!isTag(tag, 'call-open')) return this.#endWithoutCall(tag)
    source.index += tag.length
    const verdict = yield* this.#judgeFirst(tag)
    if (verdict === 'truncated') this.#sink.report(illFormedCall('truncated', source.captured()))
    if (verdict !== 'call') return verdict === 'truncated'
    for (;;) {
      let reading = yield* this.#readCall(tag)
      const next = yield* this.#lookBehindCall()
      if (next === 'over' && reading.kind === 'call' && (yield* this.#isCutShort())) {
        reading = illFormedCall('ambiguous_nesting', source.captured())
      }
      this.#sink.report(reading, { repairs: [...this.#repairs] })
      if (next !== 'call' || this.#sink.isFull) return true
      this.#repairs = new Set()
      source.mark()
      yield* this.#look()
      source.mark()
      tag = yield* this.#lookForCall()
      if (!isTag(tag, 'call-open')) return true
      source.index += tag.length
    }
  }

  *#readWrapper(): Step<void> {
    const place = yield* this.#look()
    this.#isBare = !isTag(place, 'wrapper-open')
    if (isTag(place, 'wrapper-open')) {
      this.#source.index += place.length
      if (!place.isExact) this.#repairs.add('marker_variant')
    } else this.#repairs.add('missing_start_tag')
  }

  /** A wrapper that holds no call: empty, cut, or prose. */
  #endWithoutCall(place: Place): boolean {
    if (this.#isBare || !this.#dialect.hasWrapper) return false
    if (isTag(place, 'wrapper-close')) this.#source.index += place.length
    else if (place === 'end') this.#sink.report(illFormedCall('truncated', this.#source.captured()))
    return place === 'end' || isTag(place, 'wrapper-close')
  }

  /** Whether the first opening tag, which `source` is behind, starts a call: without a wrapper it may be prose. */
  *#judgeFirst(tag: Tag): Step<'call' | 'prose' | 'truncated'> {
    const hasOwnWrapper = !this.#dialect.hasWrapper
    if (!hasOwnWrapper && !this.#isBare) return 'call'
    const isKnown = this.#sink.tools.isKnown(tag.name)
    if (this.#isBare && !(isKnown && tag.isComplete)) return 'prose'
    const next = yield* this.#look()
    if (next === 'end') return hasOwnWrapper && isKnown ? 'truncated' : 'prose'
    // Tags around a word that is no tool are spoken of.
    if (hasOwnWrapper && !isKnown && tag.isSpaced && isTag(next, 'call-close')) return 'prose'
    const isJson = next === 'text' && this.#source.window[this.#source.index] === '{'
    return isJson || isTag(next, 'parameter-open', 'call-close') ? 'call' : 'prose'
  }

  /** What comes next, layout skipped. */
  *#look(): Step<Place> {
    let place = this.#lookNow()
    for (; place === needMore; place = this.#lookNow()) yield
    return place
  }

  #lookNow(): Place | typeof needMore {
    const source = this.#source
    for (;;) {
      const code = source.skipSpace()
      if (code === needMore) return needMore
      const length = code === 92 ? source.match('\\n') : 0
      if (length === needMore) return needMore
      if (length === 0) {
        const place = code === atEnd ? 'end' : code === 60 ? this.#tagHere() : 'text'
        if (place !== needMore && this.#sawLiteralNewline) {
          // In front of text it belongs to that.
          if (place !== 'text') this.#repairs.add('literal_newline')
          this.#sawLiteralNewline = false
        }
        return place
      }
      source.index += length
      this.#sawLiteralNewline = true
    }
  }

  /** The tag at `source.index`. What was looked at before it was reached is not read twice. */
  #tagHere(): Tag | 'text' | typeof needMore {
    const { position } = this.#source
    if (this.#tagAt === position) return this.#tag
    const { window, index, isEnded } = this.#source
    const tag = readTag(this.#dialect.grammar, window, index, isEnded)
    if (tag === needMore) return needMore
    this.#tagAt = position
    this.#tag = tag ?? 'text'
    return this.#tag
  }

  *#match(marker: string): Step<number> {
    let length = this.#source.match(marker)
    for (; length === needMore; length = this.#source.match(marker)) yield
    return length
  }

  /** What comes next, behind what stands in front of each call. */
  *#lookForCall(): Step<Place> {
    const place = yield* this.#look()
    const { callPrefix } = this.#dialect
    if (callPrefix === null || place === 'end') return place
    const length = yield* this.#match(callPrefix)
    if (length === 0) {
      if (isTag(place, 'call-open')) this.#repairs.add('missing_start_tag')
      return place
    }
    this.#source.index += length
    return yield* this.#look()
  }

  /** Goes behind what closes a call and its wrapper, if anything does, and says whether another call follows. */
  *#lookBehindCall(): Step<'call' | 'over'> {
    const source = this.#source
    const { callPrefix, callSuffix, hasWrapper } = this.#dialect
    if (!hasWrapper) return 'over'
    let end = source.position
    let next = yield* this.#look()
    if (callSuffix !== null) {
      const length = yield* this.#match(callSuffix)
      if (length === 0) this.#repairs.add('missing_end_tag')
      else {
        source.index += length
        end = source.position
        next = yield* this.#look()
      }
    }
    if (isTag(next, 'wrapper-close')) {
      source.index += next.length
      return 'over'
    }
    if (next === 'text' && source.endsWithin(this.#closers)) {
      source.index = source.window.length
      this.#repairs.add('missing_end_tag')
      return 'over'
    }
    const hasPrefix = next === 'text' && callPrefix !== null && (yield* this.#match(callPrefix)) > 0
    source.rewindTo(end)
    if (hasPrefix || isTag(next, 'call-open')) return 'call'
    if (!this.#isBare) this.#repairs.add('missing_end_tag')
    return 'over'
  }

  get #closers(): readonly string[] {
    return this.#dialect.grammar.plain.filter(({ kind }) => kind === 'wrapper-close').map(({ text }) => text)
  }

  /**
   * Whether a value of the call ended too early: then its real end, a close tag
   * with structure behind it, stands in what follows, before another call does.
   * Goes behind that end; or back to where it was.
   */
  *#isCutShort(): Step<boolean> {
    const source = this.#source
    const end = source.position
    for (;;) {
      let tag = this.#nextTagNow()
      for (; tag === needMore; tag = this.#nextTagNow()) yield
      if (tag === 'end') break
      source.index += tag.length
      if (tag.kind === 'wrapper-close' || tag.kind === 'call-close' || tag.kind === 'parameter-open') continue
      let next = this.#lookNow()
      for (; next === needMore; next = this.#lookNow()) yield
      if (tag.kind === 'wrapper-open' && isTag(next, 'call-open')) break
      if (tag.kind === 'call-open' && isTag(next, 'parameter-open', 'call-close')) break
      if (tag.kind !== 'parameter-close' || !tag.isExact) continue
      if (isTag(next, 'parameter-open', 'call-close', 'wrapper-close')) {
        yield* this.#recover(fail('ambiguous_nesting'))
        const last = yield* this.#look()
        if (isTag(last, 'wrapper-close')) source.index += last.length
        return true
      }
    }
    source.rewindTo(end)
    return false
  }

  /** Reads a call behind its opening tag, and goes behind its closing one; or behind what could not be read. */
  *#readCall(tag: Tag): Step<CallReading> {
    if (!tag.isExact) this.#repairs.add('bad_tag')
    const isGuess = !tag.isComplete && !this.#sink.tools.isKnown(tag.name)
    const text = isGuess ? this.#failTag() : yield* this.#readCallText(tag)
    if (!isFailure(text)) return text
    const detail = this.#source.captured()
    yield* this.#recover(text)
    return illFormedCall(text.failure, detail)
  }

  *#readCallText(tag: Tag): Step<CallReading | Failure> {
    const source = this.#source
    const parameters: Parameter[] = []
    let json: CallReading | null = null
    for (;;) {
      let next = this.#lookNow()
      for (; next === needMore; next = this.#lookNow()) yield
      if (next === 'end') return fail('truncated')
      if (next === 'text') {
        const isJson = json === null && parameters.length === 0 && source.window[source.index] === '{'
        if (!isJson) return fail('unexpected_text')
        if (this.#dialect.json === 'repaired') this.#repairs.add('cross_format')
        const body = yield* this.#readJson(tag.name)
        if (isFailure(body)) return body
        json = body
      } else if (next.kind === 'parameter-open' && json === null) {
        const parameter = yield* this.#readParameter(tag, next)
        if (isFailure(parameter)) return parameter
        parameters.push(parameter)
        if (parameters.length > maxParameters) return fail('too_many_parameters')
      } else if (next.kind === 'call-close' || next.kind === 'wrapper-close') {
        if (next.kind === 'call-close') source.index += next.length
        else this.#repairs.add('missing_close_tag')
        if (!next.isExact) this.#repairs.add('marker_variant')
        return json ?? this.#decode(tag.name, parameters)
      } else if (next.kind === 'call-open' || next.kind === 'wrapper-open') return fail('missing_close_tag', 'here')
      else return fail('unexpected_text')
    }
  }

  #decode(name: string, parameters: readonly Parameter[]): CallReading {
    const captured = this.#source.captured()
    const shift = captured.length - this.#source.position
    const written: WrittenParameter[] = parameters.map(({ name, start, end, isText }) => {
      const value = captured.slice(start + shift, end + shift)
      return { name, isText, value: this.#dialect.hasLayoutBreaks ? withoutLayout(value) : value }
    })
    const names = new Set(parameters.map((parameter) => parameter.name))
    if (names.size < parameters.length) return illFormedCall('duplicate_parameter', captured)
    const reading = nameCall(this.#sink.tools, name, (tool) => decodeParameters(written, tool, []))
    return reading === 'unverified' ? illFormedCall('invalid_json', captured) : reading
  }

  *#readJson(name: string): Step<CallReading | Failure> {
    const endMarkers = this.#dialect.grammar.plain.filter(({ kind }) => kind === 'call-close').map(({ text }) => text)
    const body = yield* readJsonBody(this.#source, {
      endMarkers,
      closers: endMarkers,
      decode: (json) => decodeNamedCall(this.#sink.tools, name, json),
    })
    if (body.kind === 'failure') {
      this.#source.rewindTo(body.recoverFrom)
      return fail(body.reading.kind === 'ill-formed' ? body.reading.code : 'invalid_json')
    }
    for (const repair of body.repairs) this.#repairs.add(repair)
    return body.decoded
  }

  *#readParameter(call: Tag, tag: Tag): Step<Parameter | Failure> {
    this.#source.index += tag.length
    if (!tag.isExact) {
      if (!this.#isDeclared(call, tag)) return this.#failTag()
      this.#repairs.add('bad_tag')
    }
    const value = yield* this.#readValue(call, tag)
    if (isFailure(value)) return value
    return { name: tag.name, start: value.start, end: value.end, isText: tag.isText }
  }

  /** Why a tag, which `source` is behind, can't be read. */
  #failTag(): Failure {
    const { isEnded, index, window } = this.#source
    return fail(isEnded && index >= window.length ? 'truncated' : 'bad_open_tag')
  }

  #isDeclared(call: Tag, parameter: Tag): boolean {
    const reading = this.#sink.tools.read(call.name)
    return reading.kind === 'tool' && hasParameter(reading.tool, parameter.name)
  }

  /** Goes to the next tag that is spelt out, and gives it. */
  #nextTagNow(): Tag | 'end' | typeof needMore {
    const source = this.#source
    const { grammar } = this.#dialect
    for (;;) {
      source.index = grammar.filter.next(source.window, source.index)
      if (source.index === source.window.length) return source.isEnded ? 'end' : needMore
      const tag = this.#tagHere()
      if (tag === needMore || (tag !== 'text' && tag.isComplete)) return tag
      source.index += 1
    }
  }

  /** Reads a value up to the tag that closes it, and goes behind that; or to the tag that closes its call. */
  *#readValue(call: Tag, parameter: Tag): Step<Value | Failure> {
    const source = this.#source
    const start = source.position
    let hasLooseClose = false
    if (this.#expectsJson(call, parameter)) yield* this.#skipJson()
    for (;;) {
      let tag = this.#nextTagNow()
      for (; tag === needMore; tag = this.#nextTagNow()) yield
      if (tag === 'end') return fail('truncated')
      const end = source.position
      const isLineStart = source.codeBefore === 10 || end === start
      source.index += tag.length
      if (tag.kind === 'parameter-close') {
        let next = this.#lookNow()
        for (; next === needMore; next = this.#lookNow()) yield
        if (next === 'end') return fail('truncated')
        if (isTag(next, 'parameter-open', 'call-close', 'wrapper-close')) {
          if (!tag.isExact) this.#repairs.add('marker_variant')
          return { start, end }
        }
        hasLooseClose = true
      } else if (tag.kind === 'call-open' && tag.isExact) {
        let next = this.#lookNow()
        for (; next === needMore; next = this.#lookNow()) yield
        if (isTag(next, 'parameter-open', 'call-close'))
          return { failure: 'ambiguous_nesting', resume: 'close', nestedFrom: start }
      } else {
        let isOver = tag.kind === 'parameter-open' && this.#startsParameter(call, tag, isLineStart)
        if (tag.kind === 'call-close' || tag.kind === 'wrapper-close') {
          let next = this.#lookNow()
          for (; next === needMore; next = this.#lookNow()) yield
          isOver = followsCall(next) || (next === 'text' && (yield* this.#hasSuffix()))
        }
        if (!isOver) continue
        source.rewindTo(end)
        return hasLooseClose ? fail('unexpected_text') : this.#endUnclosed(start, end)
      }
    }
  }

  /** Whether a value is an array or an object: then tags in its strings are text. */
  #expectsJson(call: Tag, parameter: Tag): boolean {
    if (parameter.isText !== null) return !parameter.isText
    const reading = this.#sink.tools.read(call.name)
    if (reading.kind === 'unknown') return false
    const { parameters } = reading.tool
    const schema = memberSchema(parameters, parameters, parameter.name)
    const types = schema === undefined ? stringType : allowedTypes(schema, parameters)
    return (types & stringType) === 0 && (types & (arrayType | objectType)) !== 0
  }

  /** Goes behind a JSON value, if there is one and its close tag follows. */
  *#skipJson(): Step<void> {
    const source = this.#source
    const start = source.position
    let code = source.skipSpace()
    for (; code === needMore; code = source.skipSpace()) yield
    const jsonStart = source.position
    const scanner = new JsonScanner(false)
    while (code === 123 || code === 91) {
      source.index = scanner.feed(source.window, source.index, source.windowStart - jsonStart)
      if (scanner.isDone || scanner.failure !== null || source.isEnded) break
      yield
    }
    const end = source.position
    const isClosed = scanner.isDone && isTag(yield* this.#look(), 'parameter-close')
    source.rewindTo(isClosed ? end : start)
  }

  /** Whether a parameter's tag in a value starts the next one though the value's own close tag is missing. */
  #startsParameter(call: Tag, tag: Tag, isLineStart: boolean): boolean {
    return tag.isExact && (isLineStart || !this.#dialect.hasLayoutBreaks) && this.#isDeclared(call, tag)
  }

  #endUnclosed(start: number, end: number): Value | Failure {
    const captured = this.#source.captured()
    const value = captured.slice(captured.length - (end - start))
    if (/<\/[^<>]{1,100}>$/.test(value.slice(-104).trimEnd())) return fail('bad_close_tag')
    if (!this.#dialect.hasLayoutBreaks && value.trimEnd() !== value) return fail('missing_value_close')
    this.#repairs.add('missing_close_tag')
    return { start, end }
  }

  /** Goes behind a call that can't be read. */
  *#recover({ resume, nestedFrom }: Failure): Step<void> {
    const source = this.#source
    if (resume === 'here') return
    if (nestedFrom !== null) source.rewindTo(nestedFrom)
    const isWrapped = this.#dialect.hasWrapper && !this.#isBare
    const opens: TagKind = isWrapped ? 'wrapper-open' : 'call-open'
    const closes: TagKind = isWrapped ? 'wrapper-close' : 'call-close'
    let depth = 1
    for (;;) {
      let tag = this.#nextTagNow()
      for (; tag === needMore; tag = this.#nextTagNow()) yield
      if (tag === 'end') return
      if (tag.kind === opens && nestedFrom !== null) depth += 1
      if (tag.kind === closes) depth -= 1
      // What closes the wrapper is left for who looks behind the call.
      if (depth === 0 && tag.kind === 'wrapper-close') return
      source.index += tag.length
      if (depth === 0) return
      if (nestedFrom === null && tag.kind === 'call-close' && (yield* this.#isBehindCall())) return
    }
  }

  /** Whether what follows can follow a call. Goes back to where it was. */
  *#isBehindCall(): Step<boolean> {
    const end = this.#source.position
    let next = this.#lookNow()
    for (; next === needMore; next = this.#lookNow()) yield
    const isBehindCall = followsCall(next) || (next === 'text' && (yield* this.#hasSuffix()))
    this.#source.rewindTo(end)
    return isBehindCall
  }

  *#hasSuffix(): Step<boolean> {
    const { callSuffix } = this.#dialect
    return callSuffix !== null && (yield* this.#match(callSuffix)) > 0
  }
}

function fail(failure: IllFormedCode, resume: Failure['resume'] = 'close'): Failure {
  return { failure, resume, nestedFrom: null }
}

/** A value without the one line break on each side that is layout: CRLF where it starts with that, or with none. */
function withoutLayout(value: string): string {
  const start = value.startsWith('\r\n') ? 2 : value.startsWith('\n') ? 1 : 0
  const rest = value.slice(start)
  const end = rest.endsWith('\r\n') && start !== 1 ? 2 : rest.endsWith('\n') ? 1 : 0
  return end === 0 ? rest : rest.slice(0, -end)
}
