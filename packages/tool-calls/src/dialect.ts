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
  /**
   * Judges an opener by the text at `index`, right behind it. What is prose for
   * certain costs nothing more. `more`: the window ends before that can be told.
   */
  judgeOpener(opener: string, window: string, index: number): OpenerVerdict
  /** An opener that a call has behind its first characters, if it has one. */
  readonly lateOpener?: LateOpener
  /** Texts that end a call, a section, or a part of one. One more right behind a call says nothing. */
  readonly closers: readonly string[]
  /** End-of-turn tokens that an engine may leave in the text. Dropped where the output ends with them. */
  readonly endTokens: readonly string[]
  /**
   * Reads what starts at `source.index` with an opener, the mark set there.
   * False: it is prose, nothing was reported, and the opener is text.
   */
  read(source: Source, sink: CallSink): Reading
  /** How a reply is read that is nothing but a call without markers; null where calls always have them. */
  readonly bare: BareCalls | null
  /** Writes an output as a model of this format does. Reasoning has been written already where it has tags. */
  encode(output: EncodableOutput): string
}

/** An opener with what tells where its call starts. Both look at a bounded number of characters. */
export interface LateOpener {
  readonly opener: string
  /** Where the call starts whose opener stands at `index`, at `from` or behind it; -1: it is prose. */
  startOf(window: string, from: number, index: number): number
  /** Where at the end of a window, at `from` or behind it, a call may start whose opener is still to come. */
  tailStart(window: string, from: number): number
}

/** What is to be written: each part may be empty. */
export interface EncodableOutput {
  readonly reasoning: string
  readonly text: string
  readonly calls: readonly EncodableCall[]
}

/** Text, then calls behind a line break: what formats do that say nothing else. */
export function encodeBehindText(
  encodeCalls: (calls: readonly EncodableCall[]) => string,
): (output: EncodableOutput) => string {
  return ({ text, calls }) => {
    if (calls.length === 0) return text
    return text === '' ? encodeCalls(calls) : `${text}\n${encodeCalls(calls)}`
  }
}

/** A call to be written. */
export interface EncodableCall {
  readonly name: string
  /** Valid JSON text of an object. */
  readonly argumentsText: string
  readonly id?: string
}

/** Whether an opener is prose for certain, may open a call, or needs more text to tell. */
export type OpenerVerdict = 'prose' | 'open' | 'more'

export type Reading = Generator<undefined, boolean, undefined>

/** What a dialect says of a call beside its reading. */
export interface CallNotes {
  readonly repairs?: readonly RepairCode[]
  readonly id?: string
}

/** Where a dialect reports what it read. A call stands between the source's mark and its index. */
export interface CallSink {
  readonly tools: ToolIndex
  /** Whether no more is taken: what goes on may stop. */
  readonly isFull: boolean
  report(reading: CallReading, notes?: CallNotes): void
  text(text: string): void
  reasoning(text: string): void
}

/** Calls without markers. */
export interface BareCalls {
  /** Whether a character may start them. */
  mayStart(code: number): boolean
  /** Reads a reply from its first character on, the mark set there. False: it is prose, and nothing was reported. */
  read(source: Source, sink: CallSink): Reading
}
