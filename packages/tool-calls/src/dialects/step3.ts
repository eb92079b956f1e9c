import { type Dialect, type EncodableCall, encodeBehindText } from '../dialect.ts'
import { writeParameters } from '../write-parameters.ts'
import { attributeName, tagGrammar } from './tag-grammar.ts'
import { readTaggedCalls, type TaggedDialect } from './tagged-calls.ts'

/**
 * Step-3, on one line:
 *
 *     <｜tool_calls_begin｜>
 *     <｜tool_call_begin｜>function<｜tool_sep｜>
 *     <steptml:invoke name="read"><steptml:parameter name="path">a.py</steptml:parameter></steptml:invoke>
 *     <｜tool_call_end｜>
 *     <｜tool_calls_end｜>
 *
 * The bars are U+FF5C, the underscores ASCII; values are verbatim. Source:
 * SGLang `step3_detector.py`.
 */
const opener = '<｜tool_calls_begin｜>'
const closer = '<｜tool_calls_end｜>'
const callPrefix = '<｜tool_call_begin｜>function<｜tool_sep｜>'
const callSuffix = '<｜tool_call_end｜>'

const tagged: TaggedDialect = {
  grammar: tagGrammar(
    [
      { kind: 'wrapper-open', text: opener },
      { kind: 'wrapper-close', text: closer },
      { kind: 'call-close', text: '</steptml:invoke>' },
      { kind: 'parameter-close', text: '</steptml:parameter>' },
    ],
    [
      { kind: 'call-open', prefix: '<steptml:invoke', read: attributeName(false) },
      { kind: 'parameter-open', prefix: '<steptml:parameter', read: attributeName(false) },
    ],
  ),
  hasLayoutBreaks: false,
  hasWrapper: true,
  callPrefix,
  callSuffix,
  json: 'repaired',
}

export const step3: Dialect = {
  openers: [opener, callPrefix, '<steptml:invoke'],
  closers: [closer, callSuffix],
  endTokens: ['<|im_end|>', '<｜end▁of▁sentence｜>'],
  judgeOpener: () => 'open',
  read: (source, sink) => readTaggedCalls(tagged, source, sink),
  bare: null,
  encode: encodeBehindText((calls) => `${opener}${calls.map(encodeCall).join('')}${closer}`),
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  const parameters = writeParameters(argumentsText, (key, value) => {
    return `<steptml:parameter name="${key}">${value}</steptml:parameter>`
  })
  return `${callPrefix}<steptml:invoke name="${name}">${parameters}</steptml:invoke>${callSuffix}`
}
