import type { RepairCode } from '../codes.ts'
import type { Dialect } from '../dialect.ts'
import { sectionedJson } from './sectioned-json.ts'

/**
 * Kimi K2, on one line:
 *
 *     <|tool_calls_section_begin|>
 *     <|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|>
 *     <|tool_calls_section_end|>
 *
 * The head, `functions.NAME:INDEX` or `NAME:INDEX`, is the id of the call.
 * Names may hold dots. Sources: vLLM `kimi_k2_tool_parser.py`, SGLang
 * `kimik2_detector.py`.
 */
const namespace = 'functions.'
const position = /:[0-9]{1,9}$/

export const kimiK2: Dialect = sectionedJson({
  sectionOpens: ['<|tool_calls_section_begin|>', '<|tool_call_section_begin|>'],
  sectionCloses: ['<|tool_calls_section_end|>', '<|tool_call_section_end|>'],
  callOpen: '<|tool_call_begin|>',
  separator: '<|tool_call_argument_begin|>',
  callClose: '<|tool_call_end|>',
  endTokens: ['<|im_end|>', '[EOS]', '[EOT]'],
  mayNameFollow: false,
  readHead(head) {
    const id = head.trim()
    const bare = id.startsWith(namespace) ? id.slice(namespace.length) : id
    const name = bare.replace(position, '')
    const repairs: readonly RepairCode[] = name === bare ? ['tool_name'] : []
    return { name, id, repairs, hasFence: false }
  },
  encodeCall({ name, argumentsText, id }, index) {
    const head = id ?? `${namespace}${name}:${index}`
    return `<|tool_call_begin|>${head}<|tool_call_argument_begin|>${argumentsText}<|tool_call_end|>`
  },
})
