import type { JsonValue, ToolDefinition } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { hasSharedData, readSharedRows } from '../../../tests/shared-data.ts'
import type { ParseOptions } from './output-parser.ts'
import { parseModelOutput } from './parse-model-output.ts'

interface Row {
  readonly id: string
  readonly format: string
  readonly raw: string
  readonly tools: readonly ToolDefinition[]
  readonly finishReason?: 'stop' | 'length'
  readonly options?: Partial<ParseOptions>
  readonly ambiguous?: boolean
  readonly alternatives?: readonly JsonValue[]
  readonly expect: Expectation
}

interface Expectation {
  readonly reasoning: string
  readonly text: string
  readonly calls: readonly { name: string; arguments: JsonValue; argumentsText?: string }[]
  readonly repaired: boolean
  readonly illFormed?: readonly string[]
  readonly schemaErrors?: readonly string[]
  readonly warnings?: readonly string[]
}

function readRow(row: Row): Required<Expectation> {
  const output = parseModelOutput(row.raw, {
    format: row.format as ParseOptions['format'],
    tools: row.tools,
    ...(row.finishReason === undefined ? {} : { finishReason: row.finishReason }),
    ...row.options,
  })
  return {
    reasoning: output.reasoning.trim(),
    text: output.text.trim(),
    calls: output.calls.map((call, index) => ({
      name: call.name,
      arguments: call.arguments,
      ...(row.expect.calls[index]?.argumentsText === undefined ? {} : { argumentsText: call.argumentsText }),
    })),
    repaired: output.repaired,
    illFormed: output.illFormed.map(({ code }) => code),
    schemaErrors: output.calls.flatMap(({ schemaErrors }) => schemaErrors),
    warnings: output.warnings,
  }
}

const rows = readSharedRows<Row>('cases/tool-calls.jsonl')

describe.skipIf(!hasSharedData('cases/tool-calls.jsonl'))('the collected cases read as expected', () => {
  test.each(rows.map((row) => [row.id, row] as const))('%s', (_id, row) => {
    expect(readRow(row)).toEqual({ illFormed: [], schemaErrors: [], warnings: [], ...row.expect })
  })
})
