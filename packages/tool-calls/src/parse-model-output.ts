import { OutputParser, type ParseOptions } from './output-parser.ts'
import type { ParsedOutput } from './parsed-output.ts'

/**
 * What a model's whole output says: reasoning, text and tool calls.
 *
 * A malformed output is no error: it is described by `illFormed` and
 * `repaired`. Throws `value_invalid` for a format that does not exist. Linear
 * in the length of the output.
 *
 * ```ts
 * const { calls } = parseModelOutput(
 *   '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>',
 *   { format: 'hermes' },
 * )
 * ```
 */
export function parseModelOutput(raw: string, options: ParseOptions): ParsedOutput {
  const parser = new OutputParser(options)
  parser.readWhole(raw)
  return parser.result
}
