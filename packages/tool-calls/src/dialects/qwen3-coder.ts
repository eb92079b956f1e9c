import { type Dialect, type EncodableCall, encodeBehindText } from '../dialect.ts'
import { writeParameters } from '../write-parameters.ts'
import { functionTags } from './function-tags.ts'
import { hermes } from './hermes.ts'
import { readJsonInstead } from './json-instead.ts'
import { readTaggedCalls } from './tagged-calls.ts'

/**
 * Qwen3-Coder, Qwen3.5, MiMo, Step-3.5:
 *
 *     <tool_call>
 *     <function=edit>
 *     <parameter=path>
 *     a.py
 *     </parameter>
 *     </function>
 *     </tool_call>
 *
 * The template writes one line break on each side of a value. Sources: vLLM
 * `parser/qwen3.py` and `step3p5_tool_parser.py`, SGLang
 * `qwen3_coder_detector.py`.
 */
const opener = '<tool_call>'

export const qwen3Coder: Dialect = {
  openers: [opener, '<function='],
  closers: hermes.closers,
  endTokens: hermes.endTokens,
  judgeOpener: (marker, window, index) => {
    const next = window.charAt(index)
    return marker !== opener || next === '<' || next === '\\' ? 'open' : hermes.judgeOpener(opener, window, index)
  },
  read: (source, sink) =>
    readJsonInstead(source, sink, opener, hermes, () => readTaggedCalls(functionTags, source, sink)),
  bare: null,
  encode: encodeBehindText((calls) => calls.map(encodeCall).join('\n')),
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  const parameters = writeParameters(argumentsText, (key, value) => `<parameter=${key}>\n${value}\n</parameter>\n`)
  return `<tool_call>\n<function=${name}>\n${parameters}</function>\n</tool_call>`
}
