import type { RepairCode } from './codes.ts'
import type { CallReading } from './decode-call.ts'
import type { Source } from './source.ts'
import type { ToolIndex } from './tool-index.ts'

/**
 * How one wire format writes calls.
 *
 * A dialect reads from its opener on, as a generator that yields whenever it
 * needs more text; what it yields is nothing, and it is resumed when there is
 * more, or none will come. It decides by the text alone, never by where the
 * text was cut.
 */
export interface Dialect {
  /** Texts that may start a call, or a section of calls. */
  readonly openers: readonly string[]
  /** Whether a call can go on with this character right behind an opener. False makes the opener prose at no cost. */
  mayFollowOpener(opener: string, code: number): boolean
  /** End-of-turn tokens that an engine may leave in the text. Dropped where the output ends with them. */
  readonly endTokens: readonly string[]
  /**
   * Reads what starts at `source.index` with an opener, the mark set there.
   * False: it is prose, nothing was reported, and the opener is text.
   */
  read(source: Source, sink: CallSink): Reading
  /** How a reply is read that is nothing but a call without markers; null where calls always have them. */
  readonly bare: BareCalls | null
  /** Writes calls as a model of this format does. */
  encode(calls: readonly EncodableCall[]): string
}

/** A call to be written. */
export interface EncodableCall {
  readonly name: string
  /** Valid JSON text of an object. */
  readonly argumentsText: string
  readonly id?: string
}

export type Reading = Generator<undefined, boolean, undefined>

/** What a dialect says of a call beside its reading. */
export interface CallNotes {
  readonly repairs?: readonly RepairCode[]
  readonly id?: string
}

/** Where a dialect reports what it read. A call stands between the source's mark and its index. */
export interface CallSink {
  readonly tools: ToolIndex
  report(reading: CallReading, notes?: CallNotes): void
  text(text: string): void
  reasoning(text: string): void
}

/** Calls without markers. */
export interface BareCalls {
  /** Characters that may start them. */
  readonly starts: string
  /** Reads a reply from its first character on, the mark set there. False: it is prose, and nothing was reported. */
  read(source: Source, sink: CallSink): Reading
}
