import { type FinishReason, type ToolDefinition, ValueError } from '@agentrl/spec'
import type { IllFormedCode, RepairCode, WarningCode } from './codes.ts'
import { type CallReading, illFormedCall } from './decode-call.ts'
import type { CallNotes, CallSink, Dialect } from './dialect.ts'
import { isOver } from './json-region.ts'
import type { CharSpan, IllFormedRegion, ParsedOutput, ParsedToolCall, ParseEvent } from './parsed-output.ts'
import { type ProseState, proseScanner, reasoningScanner } from './prose-scanners.ts'
import { findReasoningFormat, type ReasoningFormatName, type ReasoningTags } from './reasoning-formats.ts'
import { atEnd, needMore, Source } from './source.ts'
import { TextCollector } from './text-collector.ts'
import type { Marker, TextScanner } from './text-scanner.ts'
import { findToolCallFormat, type ToolCallFormatName } from './tool-call-formats.ts'
import { ToolIndex } from './tool-index.ts'

/** How to read a model's output. */
export interface ParseOptions {
  /** The wire format of calls; `toolCallFormats` lists all. Throws `value_invalid` for another name. */
  readonly format: ToolCallFormatName
  /** The tools that were offered. Left out: any name is accepted, and nothing is known of arguments. */
  readonly tools?: readonly ToolDefinition[]
  /** The format of reasoning; `reasoningFormats` lists all. Default: that of the models that use `format`. */
  readonly reasoning?: ReasoningFormatName
  /** Whether the prompt ended with reasoning open, so that the output starts inside it. Default false. */
  readonly thinking?: boolean
  /** Why the engine stopped, where that is known. A cut is seen in the text; this tells of an opener that ends it. */
  readonly finishReason?: FinishReason
  /** `off`: what would be repaired is ill-formed under the code of the repair. Default `conservative`. */
  readonly repair?: 'conservative' | 'off'
}

/** How many calls, ill-formed regions, or openers that are looked behind, an output may have. */
const maxRegions = 2048
/** How many of its regions may be ill-formed, or turn out to be prose. */
const maxVainRegions = 512

type Run = Generator<undefined, void, undefined>

/** What was reported, in order, with where its region starts. */
interface Report {
  readonly event: ParseEvent
  readonly regionStart: number
}

/** How an output is read that is part of another. */
interface PartOptions {
  /** Where the part starts in the whole. */
  readonly charStart: number
  /** Whether prose in it is read for calls in code fences. */
  readonly readsFences: boolean
}

/**
 * The one engine: text is pushed, events come out as they become certain, and
 * a whole parse is one push and the end. It alternates between reasoning and
 * prose; where prose may hold a call, the dialect reads on.
 *
 * Held back until decided: a possible marker (at most its length), white space
 * and end-of-turn tokens until more text follows, a call until its end, what
 * follows an opener inside open reasoning or an open code fence until that
 * closes, a code fence that starts like a call, and a reply that does.
 */
export class OutputParser implements ProseState {
  readonly #source = new Source()
  readonly #dialect: Dialect
  readonly #tags: ReasoningTags | null
  readonly #options: ParseOptions
  readonly #part: PartOptions
  #finishReason: FinishReason | undefined
  readonly #text: TextCollector
  readonly #reasoning: TextCollector
  readonly #sink: CallSink & { isFull: boolean }
  readonly #run: Run
  readonly #calls: ParsedToolCall[] = []
  readonly #illFormed: IllFormedRegion[] = []
  readonly #warnings = new Set<WarningCode>()
  readonly #repairCounts: Partial<Record<RepairCode, number>> = {}
  #reasoningScanner: TextScanner | null = null
  /** How often a call was looked for at an opener, and how often in vain. */
  #attempts = 0
  #vainRegions = 0
  #reports: Report[] = []
  #isSilent = false
  #charsReceived = 0
  /** Up to where all has been said. */
  #decidedUntil = 0
  #regionStart = 0
  /** How many pieces of text there were when something other than text came last. */
  #piecesBefore = 0

  constructor(options: ParseOptions, part: PartOptions = { charStart: 0, readsFences: true }) {
    const format = findToolCallFormat(options.format)
    this.#dialect = format.dialect
    const reasoning = findReasoningFormat(options.reasoning ?? format.reasoning)
    checkReasoning(format.name, reasoning.name)
    this.#tags = reasoning.tags
    this.#options = options
    this.#part = part
    this.#finishReason = options.finishReason
    this.#text = new TextCollector((text) => this.#push({ kind: 'text', text }))
    this.#reasoning = new TextCollector((text) => this.#push({ kind: 'reasoning', text }))
    const sink = {
      tools: new ToolIndex(options.tools),
      isFull: false,
      report: (reading: CallReading, notes?: CallNotes) => this.#report(reading, notes),
      text: (text: string) => this.#say(this.#text, text),
      reasoning: (text: string) => this.#say(reasoning.name === 'none' ? this.#text : this.#reasoning, text),
    }
    this.#sink = sink
    this.#run = this.#read()
  }

  /** How many characters came in of which nothing has been said yet. */
  get heldBackChars(): number {
    if (this.#source.isEnded) return 0
    return this.#charsReceived - this.#decidedUntil + this.#text.heldLength + this.#reasoning.heldLength
  }

  /** Reads on, and gives what became certain. */
  push(chunk: string): readonly ParseEvent[] {
    this.#charsReceived += chunk.length
    this.#source.push(chunk)
    this.#run.next()
    return this.#takeEvents()
  }

  /** Reads a whole output, and says nothing but its result. */
  readWhole(text: string): void {
    this.#isSilent = true
    this.#readAll(text)
  }

  #readAll(text: string): void {
    this.#charsReceived = text.length
    this.#source.push(text)
    this.#source.isEnded = true
    this.#run.next()
    this.#decidedUntil = text.length
  }

  /** Says that no more will come, and gives what became certain by that. */
  end(finishReason?: FinishReason): readonly ParseEvent[] {
    this.#finishReason = finishReason ?? this.#finishReason
    this.#source.isEnded = true
    this.#run.next()
    this.#decidedUntil = this.#charsReceived
    return this.#takeEvents()
  }

  /** What was said so far; all of it after `end`. */
  get result(): ParsedOutput {
    return {
      reasoning: this.#reasoning.toString(),
      text: this.#text.toString(),
      calls: this.#calls,
      repaired: Object.keys(this.#repairCounts).length > 0,
      illFormed: this.#illFormed,
      warnings: [...this.#warnings],
      repairCounts: this.#repairCounts,
    }
  }

  #takeEvents(): readonly ParseEvent[] {
    if (this.#reports.length === 0) return []
    const events = this.#reports.map((report) => report.event)
    this.#reports = []
    return events
  }

  #push(event: ParseEvent): void {
    if (!this.#isSilent) this.#reports.push({ event, regionStart: this.#part.charStart + this.#regionStart })
  }

  *#read(): Run {
    const source = this.#source
    const tags = this.#tags
    if (tags !== null && this.#options.thinking === true) {
      for (let code = source.skipSpace(); code === needMore; code = source.skipSpace()) yield
      let length = source.match(tags.open)
      for (; length === needMore; length = source.match(tags.open)) yield
      source.index += length
      yield* this.#readReasoning(tags)
    }
    yield* this.#readProse(tags)
  }

  /** Moves to the next marker, and gives it; what stands before it is prose. Null: there is none, and more text is needed. */
  #findMarker(scanner: TextScanner, collector: TextCollector): Marker | 'fence' | null {
    const source = this.#source
    const found = scanner.find(source.window, source.index, source.isEnded)
    this.#consume(scanner, collector, found - source.index)
    if (scanner.found === null && source.isEnded) {
      this.#consume(scanner, collector, source.window.length - source.index)
    }
    this.#decidedUntil = source.position
    return scanner.found
  }

  #say(collector: TextCollector, text: string): void {
    collector.add(text)
    this.#decidedUntil = this.#source.position
  }

  /** Takes text as prose. */
  #consume(scanner: TextScanner, collector: TextCollector, length: number): void {
    const { window, index } = this.#source
    if (length > 0) collector.add(window.slice(index, index + length))
    scanner.consume(window, index, index + length)
    this.#source.index += length
  }

  /** Reasoning up to its end tag: the first one, wherever it stands. */
  *#readReasoning(tags: ReasoningTags): Run {
    const source = this.#source
    this.#reasoningScanner ??= reasoningScanner(this.#dialect, tags)
    const scanner = this.#reasoningScanner
    scanner.restart()
    this.#reasoning.add('\n')
    for (;;) {
      const marker = this.#findMarker(scanner, this.#reasoning)
      if (marker === null || marker === 'fence') {
        if (source.isEnded) return
        yield
      } else if (marker.kind === 'reasoning-close') {
        source.index += tags.close.length
        break
      } else if (marker.kind === 'opener') {
        yield* this.#readCallInReasoning(tags)
        break
      } else this.#holdEndToken(marker, scanner, this.#reasoning)
    }
    this.#piecesBefore = this.#text.pieceCount
  }

  /** Holds a token, and the same ones right behind it. */
  #holdEndToken({ text }: Marker, scanner: TextScanner, collector: TextCollector): void {
    const { window, index } = this.#source
    let end = index + text.length
    while (window.startsWith(text, end)) end += text.length
    collector.hold(window.slice(index, end))
    this.#source.index = end
    scanner.breakLine()
  }

  /**
   * Behind an opener in reasoning: prose if the reasoning is closed later. If
   * it never is, complete and valid calls that end the output are calls.
   */
  *#readCallInReasoning(tags: ReasoningTags): Run {
    const source = this.#source
    source.mark()
    const start = source.position
    let found = source.skipPast(tags.close)
    for (; found === needMore; found = source.skipPast(tags.close)) yield
    const held = source.captured()
    if (found >= 0) this.#reasoning.add(held.slice(0, held.length - tags.close.length))
    else this.#addFinalCalls(held, start, this.#reasoning, 'unclosed_reasoning')
  }

  /** Adds a text as prose, but for complete and valid calls that end it. */
  #addFinalCalls(text: string, charStart: number, collector: TextCollector, repair: RepairCode): void {
    const reports = this.#readPart(text, charStart)
    let first = reports.length
    while (first > 0 && isFinalCall(reports[first - 1]?.event)) first -= 1
    const proseEnd = reports[first]?.regionStart ?? this.#part.charStart + charStart + text.length
    collector.add(text.slice(0, proseEnd - this.#part.charStart - charStart))
    for (const { event } of reports.slice(first)) this.#adopt(event, repair)
  }

  /** Reads a part of the output on its own. */
  #readPart(text: string, charStart: number): readonly Report[] {
    const whole = this.#part.charStart + charStart
    const parser = new OutputParser({ ...this.#options, reasoning: 'none' }, { charStart: whole, readsFences: false })
    parser.#readAll(text)
    return parser.#reports
  }

  #adopt(event: ParseEvent, repair: RepairCode): void {
    if (event.kind === 'call') this.#addCall({ ...event.call, repairs: [...event.call.repairs, repair] })
  }

  *#readProse(tags: ReasoningTags | null): Run {
    const source = this.#source
    const readsFences = this.#part.readsFences
    let scanner = proseScanner(this.#dialect, tags, { state: this, readsCalls: true, readsFences })
    let isReading = true
    if (yield* this.#readBareReply()) scanner.breakLine()
    for (;;) {
      const marker = this.#findMarker(scanner, this.#text)
      if (marker === null) {
        if (source.isEnded) return
        yield
      } else if (marker === 'fence') {
        yield* this.#readFencedCalls(scanner)
      } else if (marker.kind === 'opener') {
        if (scanner.fence > 0 && this.#part.readsFences) yield* this.#readFencedCall(scanner)
        else if (yield* this.#readCall(scanner.isAtLineStart)) scanner.breakLine()
        else this.#consume(scanner, this.#text, marker.text.length)
        if (this.#sink.isFull && isReading) {
          isReading = false
          scanner = proseScanner(this.#dialect, tags, { state: this, readsCalls: false, readsFences: false })
          scanner.breakLine()
        }
      } else if (marker.kind === 'end-token') this.#holdEndToken(marker, scanner, this.#text)
      else if (marker.kind === 'closer' && this.isBehindCall) {
        source.index += marker.text.length
        this.#countRepair('extra_end_tag')
      } else if (marker.kind === 'reasoning-close' && this.isSecondClose) {
        source.index += marker.text.length
        this.#countRepair('duplicate_reasoning_end')
      } else if (tags !== null && marker.kind === 'reasoning-open' && this.#mayOpenReasoning(scanner)) {
        source.index += marker.text.length
        yield* this.#readReasoning(tags)
        scanner.breakLine()
      } else this.#consume(scanner, this.#text, marker.text.length)
    }
  }

  /** Whether nothing but white space and reasoning came so far. */
  get isBlank(): boolean {
    return this.#text.pieceCount === 0 && this.regionCount === 0
  }

  /** Whether no prose came since the start, the last call or the last reasoning. */
  get #isSegmentStart(): boolean {
    return this.#text.pieceCount === this.#piecesBefore
  }

  get regionCount(): number {
    return this.#calls.length + this.#illFormed.length
  }

  warn(code: WarningCode): void {
    this.#warnings.add(code)
  }

  /** Whether nothing but white space came since the last call, or what meant to be one. */
  get isBehindCall(): boolean {
    return this.#isSegmentStart && this.regionCount > 0 && this.#options.repair !== 'off'
  }

  get isSecondClose(): boolean {
    return this.#isSegmentStart && this.#reasoning.pieceCount > 0 && this.#options.repair !== 'off'
  }

  #mayOpenReasoning(scanner: TextScanner): boolean {
    return scanner.fence === 0 && (this.#isSegmentStart || scanner.isAtLineStart)
  }

  /** Reads a call at its opener. False: it is prose. */
  *#readCall(isAtLineStart: boolean): Generator<undefined, boolean, undefined> {
    const source = this.#source
    source.mark()
    const start = source.position
    this.#regionStart = start
    this.#attempts += 1
    let isCall = yield* this.#dialect.read(source, this.#sink)
    if (!isCall && source.isEnded && (isAtLineStart || this.#isSegmentStart || this.#isCut))
      isCall = this.#reportBareOpener()
    if (!isCall) {
      this.#vainRegions += 1
      source.rewindTo(start, 2)
    }
    this.#checkLimits()
    this.#piecesBefore = isCall ? this.#text.pieceCount : this.#piecesBefore
    return isCall
  }

  /** An output that ends with an opener was cut, unless it speaks of it. */
  #reportBareOpener(): boolean {
    const source = this.#source
    const behind = source.captured()
    source.index = source.window.length
    const rest = source.captured()
    const opener = this.#dialect.openers.find((marker) => rest.trim() === marker)
    if (opener === undefined) source.index -= rest.length - behind.length
    else this.#sink.report(illFormedCall('truncated', opener))
    return opener !== undefined
  }

  get #isCut(): boolean {
    return this.#finishReason === 'length' || this.#finishReason === 'abort'
  }

  /** A reply that may be a call without markers. */
  *#readBareReply(): Generator<undefined, boolean, undefined> {
    const source = this.#source
    const { bare } = this.#dialect
    if (bare === null) return false
    source.mark()
    const start = source.position
    let code = source.skipSpace()
    for (; code === needMore; code = source.skipSpace()) yield
    this.#regionStart = source.position
    let isCall = false
    if (code >= 0 && bare.mayStart(code)) {
      this.#text.hold(source.captured())
      source.mark()
      isCall = yield* bare.read(source, this.#sink)
      if (!isCall) source.rewindTo(this.#regionStart)
    } else source.rewindTo(start)
    return isCall
  }

  /**
   * Reads a code fence that starts like a call: calls, if it holds nothing else
   * and nothing follows it. A model that calls stops there; one that goes on
   * has quoted.
   */
  *#readFencedCalls(scanner: TextScanner): Run {
    const source = this.#source
    source.mark()
    const start = source.position
    let line = source.skipPast('\n')
    for (; line === needMore; line = source.skipPast('\n')) yield
    const innerStart = source.position - start
    const found = yield* this.#skipPastFence(scanner.fence)
    const held = source.captured()
    const isLast = found !== atEnd && (yield* isOver(source, this.#dialect.endTokens))
    const end = source.position
    const reports = isLast ? this.#readPart(held.slice(innerStart, found - start), start + innerStart) : []
    if (reports.length > 0 && reports.every(({ event }) => isFinalCall(event))) {
      for (const { event } of reports) this.#adopt(event, 'fence')
    } else if (found === atEnd) this.#addFinalCalls(held, start, this.#text, 'unclosed_fence')
    else {
      this.#text.add(held)
      source.rewindTo(start + held.length)
    }
    this.#decidedUntil = end
    scanner.fence = 0
    scanner.breakLine()
  }

  /** Goes behind the line that closes a fence, and gives where it starts in the output; `atEnd` if nothing closes it. */
  *#skipPastFence(fence: number): Generator<undefined, number, undefined> {
    const source = this.#source
    const closing = `\n${'`'.repeat(fence)}`
    for (;;) {
      let found = source.skipPast(closing)
      for (; found === needMore; found = source.skipPast(closing)) yield
      if (found === atEnd) return atEnd
      while (source.index >= source.window.length && !source.isEnded) yield
      const code = source.index < source.window.length ? source.window.charCodeAt(source.index) : 10
      if (code === 10 || code === 13 || code === 32) return found
    }
  }

  /** An opener in a fence is quoted if the fence is closed; if it never is, calls that end the output are calls. */
  *#readFencedCall(scanner: TextScanner): Run {
    const source = this.#source
    source.mark()
    const start = source.position
    const found = yield* this.#skipPastFence(scanner.fence)
    const held = source.captured()
    if (found === atEnd) this.#addFinalCalls(held, start, this.#text, 'unclosed_fence')
    else this.#text.add(held)
    scanner.fence = 0
    scanner.breakLine()
  }

  /** Reads no more calls where there are too many: the rest is prose, and that is said. */
  #checkLimits(): void {
    const regions = this.#calls.length + this.#illFormed.length
    const vain = this.#vainRegions + this.#illFormed.length
    const isFull = Math.max(regions, this.#attempts) >= maxRegions || vain >= maxVainRegions || this.#source.isExhausted
    if (!isFull || this.#sink.isFull) return
    this.#sink.isFull = true
    const { position } = this.#source
    const place = this.#part.charStart + position
    this.#addIllFormed('too_many_regions', { charStart: place, charEnd: place }, `${regions} regions`)
  }

  #report(reading: CallReading, notes: CallNotes = {}): void {
    if (this.#sink.isFull) return
    const sampledText = this.#source.captured()
    const charEnd = this.#part.charStart + this.#source.position
    const span = { charStart: charEnd - sampledText.length, charEnd }
    if (reading.kind === 'ill-formed') this.#addIllFormed(reading.code, span, reading.detail)
    else {
      for (const warning of reading.warnings) this.#warnings.add(warning)
      this.#addCall({
        name: reading.name,
        id: notes.id ?? reading.id ?? null,
        arguments: reading.arguments,
        argumentsText: reading.argumentsText,
        repairs: joinRepairs(reading.repairs, notes.repairs ?? []),
        schemaErrors: reading.schemaErrors,
        span,
        sampledText,
      })
    }
    this.#regionStart = this.#source.position
    this.#checkLimits()
  }

  #addCall(call: ParsedToolCall): void {
    const [refused] = this.#options.repair === 'off' ? call.repairs : []
    if (refused !== undefined) {
      this.#addIllFormed(refused, call.span, call.name)
      return
    }
    this.#calls.push(call)
    for (const repair of call.repairs) this.#countRepair(repair)
    this.#push({ kind: 'call', call })
  }

  #addIllFormed(code: IllFormedCode, span: CharSpan, detail: string): void {
    const region = { code, span, detail }
    this.#illFormed.push(region)
    this.#push({ kind: 'ill-formed', region })
  }

  #countRepair(repair: RepairCode): void {
    this.#repairCounts[repair] = (this.#repairCounts[repair] ?? 0) + 1
  }
}

function joinRepairs(first: readonly RepairCode[], second: readonly RepairCode[]): readonly RepairCode[] {
  return first.length + second.length < 2 ? [...first, ...second] : [...new Set([...first, ...second])]
}

/** In gpt-oss calls and reasoning are one format: neither goes with another. */
function checkReasoning(format: string, reasoning: string): void {
  if (reasoning === 'none' || (format === 'gpt_oss') === (reasoning === 'gpt-oss')) return
  throw new ValueError('value_invalid', `Reasoning format "${reasoning}" does not go with calls in "${format}"`, {
    details: { format, reasoning },
  })
}

/** Whether an event is a call that is complete and valid enough to end reasoning, or to be taken out of a fence. */
function isFinalCall(event: ParseEvent | undefined): boolean {
  return (
    event?.kind === 'call' && event.call.schemaErrors.length === 0 && !event.call.repairs.includes('missing_end_tag')
  )
}
