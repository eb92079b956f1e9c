import type { FinishReason } from '@agentrl/spec'
import { OutputParser, type ParseOptions } from './output-parser.ts'
import type { ParsedOutput, ParseEvent } from './parsed-output.ts'

/** Reads an output while it arrives. */
export interface StreamParser {
  /** Takes the next text, of any length, and gives what became certain by it. */
  push(chunk: string): readonly ParseEvent[]
  /**
   * Says that no more will come, and why, if that is known by now. `events` is what became certain by that;
   * `output` is all of it, equal to what `parseModelOutput` says of the whole.
   */
  end(options?: { readonly finishReason?: FinishReason }): {
    readonly events: readonly ParseEvent[]
    readonly output: ParsedOutput
  }
  /** How many of the characters that came in nothing has been said of yet. */
  readonly heldBackChars: number
}

/**
 * A parser for text that arrives in pieces. For every way to cut an output,
 * the events join to the same text, reasoning and calls.
 *
 * An event is final. Held back until decided: a possible marker, white space
 * and end-of-turn tokens that may end the output, a call until its end, and
 * what may turn out to be one: text behind an opener in reasoning or in a code
 * fence until that closes, a reply that starts like a bare or a fenced call.
 * Throws `value_invalid` for a format that does not exist.
 */
export function createStreamParser(options: ParseOptions): StreamParser {
  const parser = new OutputParser(options)
  return {
    push: (chunk) => parser.push(chunk),
    end: (ending) => ({ events: parser.end(ending?.finishReason), output: parser.result }),
    get heldBackChars() {
      return parser.heldBackChars
    },
  }
}
