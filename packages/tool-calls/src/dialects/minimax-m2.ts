import { type Dialect, type EncodableCall, encodeBehindText } from '../dialect.ts'
import { writeParameters } from '../write-parameters.ts'
import { attributeName, tagGrammar } from './tag-grammar.ts'
import { readTaggedCalls, type TaggedDialect } from './tagged-calls.ts'

/**
 * MiniMax M2:
 *
 *     <minimax:tool_call>
 *     <invoke name="read">
 *     <parameter name="path">a.py</parameter>
 *     </invoke>
 *     </minimax:tool_call>
 *
 * Several calls may share a wrapper; values are verbatim. Source: vLLM
 * `minimax_m2` engine parser, SGLang `minimax_m2.py`.
 */
const opener = '<minimax:tool_call>'
const closer = '</minimax:tool_call>'

const tagged: TaggedDialect = {
  grammar: tagGrammar(
    [
      { kind: 'wrapper-open', text: opener },
      { kind: 'wrapper-close', text: closer },
      { kind: 'call-close', text: '</invoke>' },
      { kind: 'parameter-close', text: '</parameter>' },
    ],
    [
      { kind: 'call-open', prefix: '<invoke', read: attributeName(false) },
      { kind: 'parameter-open', prefix: '<parameter', read: attributeName(false) },
    ],
  ),
  hasLayoutBreaks: false,
  hasWrapper: true,
  callPrefix: null,
  callSuffix: null,
  json: 'repaired',
}

export const minimaxM2: Dialect = {
  openers: [opener, '<invoke name='],
  closers: [closer],
  endTokens: ['[e~[', ']~b]'],
  judgeOpener: () => 'open',
  read: (source, sink) => readTaggedCalls(tagged, source, sink),
  bare: null,
  encode: encodeBehindText((calls) => `${opener}\n${calls.map(encodeCall).join('')}${closer}`),
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  const parameters = writeParameters(argumentsText, (key, value) => `<parameter name="${key}">${value}</parameter>\n`)
  return `<invoke name="${name}">\n${parameters}</invoke>\n`
}
