import { describe, expect, test } from 'vitest'
import { encodeModelOutput } from './encode-model-output.ts'
import { parseModelOutput } from './parse-model-output.ts'
import type { ToolCallFormatName } from './tool-call-formats.ts'

/** How a call carries its arguments: how many brackets stand around them. */
const formats: readonly (readonly [ToolCallFormatName, number])[] = [
  ['hermes', 1],
  ['llama3_json', 1],
  ['mistral_pre11', 2],
  ['mistral', 0],
  ['kimi_k2', 0],
  ['deepseek_v3', 0],
  ['deepseek_v31', 0],
  ['gpt_oss', 0],
  ['glm4_0414', 0],
  ['pythonic', 0],
]

function nested(depth: number, inner: string): string {
  return '['.repeat(depth) + inner + ']'.repeat(depth)
}

function rawCall(format: ToolCallFormatName, value: string, padding = ''): string {
  const args = `{"pad": "${padding}", "a": 1}`
  return encodeModelOutput({ calls: [{ name: 'put', arguments: args }] }, { format }).replace(/1(?=[})])/, value)
}

/** Arguments of some nested arrays, read in one format; short ones and ones long enough to be read unseen. */
function readNested(format: ToolCallFormatName, arrays: number, inner: string): readonly string[] {
  return ['', ' '.repeat(3000)].map((padding) => {
    const { calls, illFormed } = parseModelOutput(rawCall(format, nested(arrays, inner), padding), { format })
    return calls.length === 1 ? 'call' : illFormed.map(({ code }) => code).join()
  })
}

describe('nesting', () => {
  test.each(formats)('%s: 512 levels are read', (format, outer) => {
    expect(readNested(format, 511 - outer, '')).toEqual(['call', 'call'])
    expect(readNested(format, 511 - outer, 'null')).toEqual(['call', 'call'])
  })

  test.each(formats)('%s: 513 levels are ill-formed', (format, outer) => {
    expect(readNested(format, 512 - outer, '')).toEqual(['too_deep', 'too_deep'])
    expect(readNested(format, 512 - outer, '5')).toEqual(['too_deep', 'too_deep'])
  })

  test.each(formats)('%s: 200,000 levels are ill-formed, and not thrown', (format) => {
    expect(
      parseModelOutput(rawCall(format, nested(200_000, '')), { format }).illFormed.map(({ code }) => code),
    ).toEqual(['too_deep'])
  })

  test('is bounded in what is encoded', () => {
    const calls = [{ name: 'put', arguments: `{"a": ${nested(512, '')}}` }]
    expect(() => encodeModelOutput({ calls }, { format: 'hermes' })).toThrow('nested')
  })
})
