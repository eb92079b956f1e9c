import { readFileSync } from 'node:fs'
import type { JsonObject, ToolDefinition } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { parseModelOutput } from './parse-model-output.ts'
import type { ToolCallFormatName } from './tool-call-formats.ts'

/**
 * Valid outputs, and what SGLang's and vLLM's own parsers get of them, as
 * `pnpm proof:tool-calls` recorded them. docs/tool-calls.md says what the rules
 * are by which an engine differs.
 */
interface Said {
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[]
  readonly text: string
}

interface Row {
  readonly engine: 'sglang' | 'vllm'
  /** `agrees`, or the rules by which the engine reads otherwise. */
  readonly rule: string
  readonly format: ToolCallFormatName
  readonly raw: string
  readonly meant: Said
  readonly engineSays: Partial<Said> & { readonly error?: string }
}

const fixture = new URL('./__fixtures__/engine-agreement.jsonl', import.meta.url)
const [head = '{}', ...lines] = readFileSync(fixture, 'utf8').trim().split('\n')
const { tools } = JSON.parse(head) as { tools: readonly ToolDefinition[] }
const rows = lines.map((line) => JSON.parse(line) as Row)
const agreed = rows.filter((row) => row.rule === 'agrees')

function read({ raw, format }: Row): Said {
  const { calls, text } = parseModelOutput(raw, { format, tools })
  return { calls: calls.map((call) => ({ name: call.name, arguments: call.arguments })), text }
}

describe('valid outputs that an engine has read', () => {
  test('are of fifteen formats and two engines', () => {
    expect(new Set(rows.map((row) => row.format)).size).toBe(15)
    expect(new Set(rows.map((row) => row.engine)).size).toBe(2)
    expect(agreed.length).toBeGreaterThan(300)
  })

  test.each(rows.map((row, index) => [`${row.format} as in line ${index + 2}`, row] as const))(
    '%s, mean what was meant, without a repair',
    (_label, row) => {
      const output = parseModelOutput(row.raw, { format: row.format, tools })
      expect(read(row)).toEqual(row.meant)
      expect({ repaired: output.repaired, illFormed: output.illFormed }).toEqual({ repaired: false, illFormed: [] })
    },
  )

  test('mean what the engine reads, where it agrees', () => {
    const differing = agreed.filter((row) => {
      const { calls, text } = read(row)
      const engine = { calls: row.engineSays.calls, text: row.engineSays.text?.trim() }
      return JSON.stringify(sorted({ calls, text })) !== JSON.stringify(sorted(engine))
    })
    expect(differing).toEqual([])
  })
})

/** A value with its keys in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([first], [second]) => (first < second ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  )
}
