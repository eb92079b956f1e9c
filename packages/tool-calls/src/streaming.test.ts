import type { FinishReason, ToolDefinition } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { hasSharedData, readSharedRows } from '../../../tests/shared-data.ts'
import { createStreamParser } from './create-stream-parser.ts'
import type { ParseOptions } from './output-parser.ts'
import { parseModelOutput } from './parse-model-output.ts'
import type { ParsedOutput, ParseEvent } from './parsed-output.ts'

interface Row {
  readonly id: string
  readonly format: ParseOptions['format']
  readonly raw: string
  readonly tools: readonly ToolDefinition[]
  readonly finishReason?: FinishReason
  readonly options?: Partial<ParseOptions>
}

interface Streamed {
  readonly output: ParsedOutput
  readonly events: readonly ParseEvent[]
}

/** Events with neighbouring texts joined: how they are cut is the only thing that may differ. */
function joinTexts(events: readonly ParseEvent[]): ParseEvent[] {
  const joined: ParseEvent[] = []
  for (const event of events) {
    const last = joined[joined.length - 1]
    if (event.kind === 'text' && last?.kind === 'text')
      joined[joined.length - 1] = { kind: 'text', text: last.text + event.text }
    else if (event.kind === 'reasoning' && last?.kind === 'reasoning') {
      joined[joined.length - 1] = { kind: 'reasoning', text: last.text + event.text }
    } else joined.push(event)
  }
  return joined
}

function stream(chunks: readonly string[], options: ParseOptions): Streamed {
  const parser = createStreamParser(options)
  const events = chunks.flatMap((chunk) => parser.push(chunk))
  const { events: last, output } = parser.end()
  return { output, events: joinTexts([...events, ...last]) }
}

const rows = readSharedRows<Row>('cases/tool-calls.jsonl')

describe.skipIf(!hasSharedData('cases/tool-calls.jsonl'))('a stream reads as the whole', () => {
  test.each(rows.map((row) => [row.id, row] as const))('%s, cut anywhere', (_id, row) => {
    const ending = row.finishReason === undefined ? {} : { finishReason: row.finishReason }
    const options = { format: row.format, tools: row.tools, ...ending, ...row.options }
    const whole = stream([row.raw], options)
    expect(whole.output).toEqual(parseModelOutput(row.raw, options))
    const cuts = Array.from({ length: row.raw.length + 1 }, (_, cut) => cut)
    const cutOnce = cuts.map((cut) => stream([row.raw.slice(0, cut), row.raw.slice(cut)], options))
    expect(cutOnce.filter((streamed) => JSON.stringify(streamed) !== JSON.stringify(whole))).toEqual([])
    expect(stream(row.raw.split(''), options)).toEqual(whole)
  })
})
