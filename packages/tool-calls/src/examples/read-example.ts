import type { JsonObject, ToolDefinition } from '@agentrl/spec'
import { expect } from 'vitest'
import { createStreamParser } from '../create-stream-parser.ts'
import type { ParseOptions } from '../output-parser.ts'
import { parseModelOutput } from '../parse-model-output.ts'

/** What a worked example says an output means. What is left out is empty. */
export interface Expected {
  readonly calls?: readonly (readonly [name: string, args: JsonObject])[]
  readonly text?: string
  readonly reasoning?: string
  readonly repairs?: readonly string[]
  readonly illFormed?: readonly string[]
  readonly schemaErrors?: readonly string[]
  readonly warnings?: readonly string[]
  /** Of the first call, where its spelling matters. */
  readonly argumentsText?: string
}

/** A worked example: why it is read so, the output, and what it means. */
export type Example = readonly [promise: string, raw: string, expected: Expected, options?: Partial<ParseOptions>]

const string = { type: 'string' }

function tool(name: string, properties: JsonObject, required: readonly string[]): ToolDefinition {
  return { type: 'function', function: { name, parameters: { type: 'object', properties, required: [...required] } } }
}

/** The tools of every example. */
export const exampleTools: readonly ToolDefinition[] = [
  tool('bash', { command: string, timeout: { type: 'number' } }, ['command']),
  tool('read', { path: string, limit: { type: 'integer' } }, ['path']),
  tool('write', { path: string, content: string }, ['path', 'content']),
  tool('edit', { path: string, old_string: string, new_string: string }, ['path', 'old_string', 'new_string']),
  tool('ls', { all: { type: 'boolean' }, path: { type: ['string', 'null'] } }, []),
  tool('list_todos', {}, []),
  tool('set_todos', { todos: { type: 'array', items: { type: 'object' } } }, ['todos']),
  tool('mcp__fs.read', { path: string }, ['path']),
]

/** Reads an output whole and character by character, and says what it means. */
export function expectExample(format: ParseOptions['format'], [, raw, expected, more]: Example): void {
  const options: ParseOptions = { format, tools: exampleTools, ...more }
  const output = parseModelOutput(raw, options)
  const stream = createStreamParser(options)
  for (let index = 0; index < raw.length; index += 1) stream.push(raw.charAt(index))
  expect(stream.end().output).toEqual(output)
  const { argumentsText, ...rest } = expected
  expect({
    calls: output.calls.map((call) => [call.name, call.arguments]),
    text: output.text,
    reasoning: output.reasoning,
    repairs: Object.keys(output.repairCounts).sort(),
    illFormed: output.illFormed.map((region) => region.code),
    schemaErrors: output.calls.flatMap((call) => call.schemaErrors),
    warnings: output.warnings,
    ...(argumentsText === undefined ? {} : { argumentsText: output.calls[0]?.argumentsText }),
  }).toEqual({
    calls: [],
    text: '',
    reasoning: '',
    illFormed: [],
    schemaErrors: [],
    warnings: [],
    ...rest,
    repairs: [...(rest.repairs ?? [])].sort(),
    ...(argumentsText === undefined ? {} : { argumentsText }),
  })
}
