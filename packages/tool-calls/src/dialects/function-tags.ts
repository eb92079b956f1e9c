import type { CallSink, Reading } from '../dialect.ts'
import { needMore, type Source } from '../source.ts'
import { equalsName, tagGrammar } from './tag-grammar.ts'
import { readTaggedCalls, type TaggedDialect } from './tagged-calls.ts'

/** The tags of Qwen3-Coder and its kin, with one line break of layout on each side of a value. */
export const functionTags: TaggedDialect = {
  grammar: tagGrammar(
    [
      { kind: 'wrapper-open', text: '<tool_call>' },
      { kind: 'wrapper-close', text: '</tool_call>' },
      { kind: 'call-close', text: '</function>' },
      { kind: 'parameter-close', text: '</parameter>' },
    ],
    [
      { kind: 'call-open', prefix: '<function', read: equalsName('function') },
      { kind: 'parameter-open', prefix: '<parameter', read: equalsName('parameter') },
    ],
  ),
  hasLayoutBreaks: true,
  hasWrapper: true,
  callPrefix: null,
  callSuffix: null,
  json: 'repaired',
}

/** Reports calls of a sibling format as what they are. */
export function asCrossFormat(sink: CallSink): CallSink {
  return {
    tools: sink.tools,
    get isFull() {
      return sink.isFull
    },
    text: sink.text,
    reasoning: sink.reasoning,
    report: (reading, notes) =>
      sink.report(reading, { ...notes, repairs: ['cross_format', ...(notes?.repairs ?? [])] }),
  }
}

/** The character behind an opener and white space; and goes back to the opener. */
export function* lookBehind(source: Source, opener: string): Generator<undefined, number, undefined> {
  const start = source.position
  let length = source.match(opener)
  for (; length === needMore; length = source.match(opener)) yield
  if (length === 0) return needMore
  source.index += length
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  source.rewindTo(start)
  return code
}

/** Reads what starts with `<tool_call>`: in tags where a tag follows, which JSON models fall back to, else as the format has it. */
export function* readFunctionInstead(
  source: Source,
  sink: CallSink,
  read: (source: Source, sink: CallSink) => Reading,
): Reading {
  const code = yield* lookBehind(source, '<tool_call>')
  return code === 60 ? yield* readTaggedCalls(functionTags, source, asCrossFormat(sink)) : yield* read(source, sink)
}
