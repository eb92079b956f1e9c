import { describe, expect, test } from 'vitest'
import { encodeModelOutput } from './encode-model-output.ts'
import { exampleTools } from './examples/read-example.ts'
import { parseModelOutput } from './parse-model-output.ts'
import type { ToolCallFormatName } from './tool-call-formats.ts'

const formats: readonly ToolCallFormatName[] = [
  ...(['hermes', 'qwen3_coder', 'glm45', 'glm47', 'glm4_0414', 'kimi_k2', 'deepseek_v3', 'deepseek_v31'] as const),
  ...([
    'deepseek_v32',
    'llama3_json',
    'pythonic',
    'mistral',
    'mistral_pre11',
    'minimax_m2',
    'gpt_oss',
    'step3',
  ] as const),
]

const written = { path: 'C:\\user\\a.py', content: 'if x {"a": [1]}:\n  say("it\'s")\n\n' }
const commanded = { command: 'ls -la' }

/** What is left of an output at every place where it can be cut. */
function cutsOf(raw: string): readonly string[] {
  return Array.from({ length: raw.length }, (_, end) => raw.slice(0, end))
}

describe.each(formats)('%s, cut anywhere', (format) => {
  const calls = [{ name: 'write', arguments: written }]
  const raw = encodeModelOutput({ text: 'I write.', calls }, { format })
  const outputs = cutsOf(raw).map((cut) =>
    parseModelOutput(cut, { format, tools: exampleTools, finishReason: 'length' }),
  )

  test('gives the whole call or none', () => {
    const others = outputs
      .flatMap((output) => output.calls)
      .filter((call) => JSON.stringify(call.arguments) !== JSON.stringify(written))
    expect(others).toEqual([])
  })

  test('says so from the first argument on', () => {
    const from = raw.indexOf('C:')
    const silent = outputs.slice(from).filter((output) => output.calls.length + output.illFormed.length === 0)
    expect(silent.map((output) => output.text)).toEqual(silent.map(() => expect.stringContaining('C:')))
    expect(outputs.slice(from).filter((output) => output.calls.length + output.illFormed.length > 1)).toEqual([])
  })

  test('keeps a call in front of the cut', () => {
    const two = [{ name: 'bash', arguments: commanded }, ...calls]
    const both = encodeModelOutput({ calls: two }, { format })
    const start = both.indexOf('C:')
    const kept = cutsOf(both)
      .slice(start)
      .map((cut) => parseModelOutput(cut, { format, tools: exampleTools }).calls[0])
    const arrayFormats = ['mistral_pre11', 'pythonic']
    const expected = arrayFormats.includes(format) ? undefined : commanded
    expect(kept.slice(0, 5).map((call) => call?.arguments)).toEqual(Array(5).fill(expected))
  })
})
