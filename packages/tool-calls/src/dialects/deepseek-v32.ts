import { type Dialect, type EncodableCall, encodeBehindText } from '../dialect.ts'
import { writeParameters } from '../write-parameters.ts'
import { attributeName, tagGrammar } from './tag-grammar.ts'
import { readTaggedCalls, type TaggedDialect } from './tagged-calls.ts'

/**
 * DeepSeek V3.2, and V4 with `tool_calls` for `function_calls`:
 *
 *     <｜DSML｜function_calls>
 *     <｜DSML｜invoke name="read">
 *     <｜DSML｜parameter name="path" string="true">a.py</｜DSML｜parameter>
 *     <｜DSML｜parameter name="limit" string="false">5</｜DSML｜parameter>
 *     </｜DSML｜invoke>
 *     </｜DSML｜function_calls>
 *
 * The bars are U+FF5C. `string` says whether a value is text or JSON; a JSON
 * object may stand in place of the parameters. Source: SGLang
 * `deepseekv32_detector.py`, vLLM's engine parser of the same name.
 */
const mark = '｜DSML｜'
const opener = `<${mark}function_calls>`
const closer = `</${mark}function_calls>`

const tagged: TaggedDialect = {
  grammar: tagGrammar(
    [
      { kind: 'wrapper-open', text: opener },
      { kind: 'wrapper-open', text: `<${mark}tool_calls>` },
      { kind: 'wrapper-open', text: '<function_calls>', isVariant: true },
      { kind: 'wrapper-close', text: closer },
      { kind: 'wrapper-close', text: `</${mark}tool_calls>` },
      { kind: 'wrapper-close', text: '</function_calls>', isVariant: true },
      { kind: 'call-close', text: `</${mark}invoke>` },
      { kind: 'call-close', text: '</invoke>', isVariant: true },
      { kind: 'parameter-close', text: `</${mark}parameter>` },
      { kind: 'parameter-close', text: '</parameter>', isVariant: true },
    ],
    [
      { kind: 'call-open', prefix: `<${mark}invoke`, read: attributeName(false) },
      { kind: 'call-open', prefix: '<invoke', read: attributeName(false), isVariant: true },
      { kind: 'parameter-open', prefix: `<${mark}parameter`, read: attributeName(true) },
      { kind: 'parameter-open', prefix: '<parameter', read: attributeName(true), isVariant: true },
    ],
  ),
  hasLayoutBreaks: false,
  hasWrapper: true,
  callPrefix: null,
  callSuffix: null,
  json: 'native',
}

export const deepseekV32: Dialect = {
  openers: [opener, `<${mark}tool_calls>`, `<${mark}invoke`, '<function_calls>', '<invoke name='],
  closers: [closer, `</${mark}tool_calls>`],
  endTokens: ['<｜end▁of▁sentence｜>'],
  judgeOpener: () => 'open',
  read: (source, sink) => readTaggedCalls(tagged, source, sink),
  bare: null,
  encode: encodeBehindText((calls) => `${opener}\n${calls.map(encodeCall).join('')}${closer}`),
}

function encodeCall({ name, argumentsText }: EncodableCall): string {
  const parameters = writeParameters(argumentsText, (key, value, isText) => {
    return `<${mark}parameter name="${key}" string="${isText}">${value}</${mark}parameter>\n`
  })
  return `<${mark}invoke name="${name}">\n${parameters}</${mark}invoke>\n`
}
