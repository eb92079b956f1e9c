import type { JsonObject, JsonValue, ToolDefinition } from '@agentrl/spec'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createStreamParser } from './create-stream-parser.ts'
import { encodeModelOutput, type OutputToEncode } from './encode-model-output.ts'
import { parseModelOutput } from './parse-model-output.ts'
import type { ParsedOutput } from './parsed-output.ts'
import { type ToolCallFormatName, toolCallFormats } from './tool-call-formats.ts'

/** Texts that are structure in one format or another: strings made of them are the ones that parsers cut. */
const fragments = [
  ...['<tool_call>', '</tool_call>', '<function=bash>', '</function>', '<parameter=path>', '</parameter>'],
  ...[
    '<arg_key>',
    '</arg_key>',
    '<arg_value>',
    '</arg_value>',
    '<|tool_call_end|>',
    '<｜tool▁call▁end｜>',
    '[TOOL_CALLS]',
  ],
  ...[
    '</｜DSML｜parameter>',
    '</invoke>',
    '</steptml:invoke>',
    '<|call|>',
    '<|channel|>',
    '<think>',
    '</think>',
    '```',
  ],
  ...[
    '{"a": 1}',
    '[1]',
    '"',
    "'",
    '\\',
    '\\n',
    '\n',
    '\r\n',
    '\t',
    ' ',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '//',
    'null',
    'true',
    '5',
  ],
  ...['a', 'name', '北京', '😀', '\u00a0', '“', 'é', '\u0007'],
]
/** What opens a call or a parameter can't be told from the real one without escapes; other tests have such cases. */
const opening = ['<function=bash>', '<parameter=path>', '<arg_key>']
const withoutCalls = fragments.filter((fragment) => !opening.includes(fragment))
const nastyValue = fc.array(fc.constantFrom(...withoutCalls), { maxLength: 6 }).map((parts) => parts.join(''))
const nastyString = fc.array(fc.constantFrom(...fragments), { maxLength: 6 }).map((parts) => parts.join(''))
const plainString = fc.stringMatching(/^[a-zA-Z0-9 .,:;/_{}[\]()'-]{0,40}$/)

interface Sample {
  readonly tools: readonly ToolDefinition[]
  readonly call: { readonly name: string; readonly arguments: JsonObject }
}

const leaf = (text: fc.Arbitrary<string>): fc.Arbitrary<JsonValue> =>
  fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true }))

/** A parameter with a value that fits it. */
function parameter(text: fc.Arbitrary<string>): fc.Arbitrary<{ schema: JsonObject; value: JsonValue }> {
  return fc.oneof(
    text.map((value) => ({ schema: { type: 'string' }, value })),
    fc.integer().map((value) => ({ schema: { type: 'integer' }, value })),
    fc.integer().map((value) => ({ schema: { anyOf: [{ type: 'integer' }, { type: 'null' }] }, value })),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({ schema: { type: 'number' }, value })),
    fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
    fc.array(leaf(text), { maxLength: 4 }).map((value) => ({ schema: { type: 'array' }, value })),
    fc
      .dictionary(text, leaf(text), { maxKeys: 3, noNullPrototype: true })
      .map((value) => ({ schema: { type: 'object' }, value })),
    fc.constantFrom('fast', 'slow').map((value) => ({ schema: { enum: ['fast', 'slow'] }, value })),
  )
}

const identifier = fc
  .stringMatching(/^[a-z][a-z0-9_]{0,8}$/)
  .filter((name) => !['name', 'arguments', 'input'].includes(name))

function sample(text: fc.Arbitrary<string>): fc.Arbitrary<Sample> {
  return fc
    .tuple(identifier, fc.dictionary(identifier, parameter(text), { maxKeys: 4, noNullPrototype: true }))
    .map(([name, members]) => {
      const entries = Object.entries(members)
      const properties = Object.fromEntries(entries.map(([key, { schema }]) => [key, schema]))
      const definition = { name, parameters: { type: 'object', properties, required: Object.keys(properties) } }
      const values = Object.fromEntries(entries.map(([key, { value }]) => [key, value]))
      return { tools: [{ type: 'function', function: definition }], call: { name, arguments: values } }
    })
}

/** -0 is 0 in JSON. */
function asJson(value: JsonObject): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

function callsOf(output: ParsedOutput): readonly { name: string; arguments: JsonValue }[] {
  return output.calls.map(({ name, arguments: value }) => ({ name, arguments: value }))
}

const jsonFormats: readonly ToolCallFormatName[] = [
  'hermes',
  'kimi_k2',
  'deepseek_v3',
  'deepseek_v31',
  'llama3_json',
  'pythonic',
  'mistral',
  'mistral_pre11',
  'gpt_oss',
  'glm4_0414',
]
const tagFormats: readonly ToolCallFormatName[] = [
  'qwen3_coder',
  'glm45',
  'glm47',
  'deepseek_v32',
  'minimax_m2',
  'step3',
]

describe('what is encoded reads back', () => {
  test.each(jsonFormats)('%s: any call is the same call', (format) => {
    fc.assert(
      fc.property(sample(nastyString), ({ tools, call }) => {
        const output = parseModelOutput(encodeModelOutput({ calls: [call] }, { format }), { format, tools })
        expect(output.illFormed).toEqual([])
        expect(callsOf(output)).toEqual([{ name: call.name, arguments: asJson(call.arguments) }])
        expect({ repaired: output.repaired, text: output.text }).toEqual({ repaired: false, text: '' })
        expect(output.calls.flatMap(({ schemaErrors }) => schemaErrors)).toEqual([])
      }),
    )
  })

  test.each(tagFormats)('%s: a call without lookalikes of tags is the same call', (format) => {
    fc.assert(
      fc.property(sample(plainString), ({ tools, call }) => {
        const output = parseModelOutput(encodeModelOutput({ calls: [call] }, { format }), { format, tools })
        expect(output.illFormed).toEqual([])
        expect(callsOf(output)).toEqual([{ name: call.name, arguments: asJson(call.arguments) }])
        expect(output.repaired).toBe(false)
      }),
    )
  })

  test.each(tagFormats)('%s: any call is the same call or ill-formed, and never another', (format) => {
    fc.assert(
      fc.property(sample(nastyValue), ({ tools, call }) => {
        const output = parseModelOutput(encodeModelOutput({ calls: [call] }, { format }), { format, tools })
        const expected = output.illFormed.length > 0 ? [] : [{ name: call.name, arguments: asJson(call.arguments) }]
        expect(callsOf(output)).toEqual(expected)
      }),
    )
  })

  test.each([...jsonFormats, ...tagFormats])('%s: reasoning, text and calls stay apart', (format) => {
    const words = fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8}){0,4}\.$/)
    fc.assert(
      fc.property(words, words, sample(plainString), (reasoning, text, { tools, call }) => {
        const raw = encodeModelOutput({ reasoning, text, calls: [call] }, { format })
        const output = parseModelOutput(raw, { format, tools })
        expect({ reasoning: output.reasoning, text: output.text, calls: output.calls.length }).toEqual({
          reasoning,
          text,
          calls: 1,
        })
      }),
    )
  })
})

/** Any text that a format's parser may meet: encoded calls, damaged, among pieces of structure. */
function damagedOutput(format: ToolCallFormatName): fc.Arbitrary<{ raw: string; tools: readonly ToolDefinition[] }> {
  const damage = fc.record({
    at: fc.nat(1000),
    cut: fc.nat(12),
    put: fc.constantFrom('', ...fragments),
  })
  return fc
    .tuple(
      fc.array(sample(nastyString), { minLength: 1, maxLength: 3 }),
      fc.array(damage, { maxLength: 3 }),
      fc.boolean(),
    )
    .map(([samples, damages, hasReasoning]) => {
      const output: OutputToEncode = {
        reasoning: hasReasoning ? 'plan' : '',
        text: hasReasoning ? '' : 'Look.',
        calls: samples.map(({ call }) => call),
      }
      let raw = encodeModelOutput(output, { format })
      for (const { at, cut, put } of damages) {
        const place = at % (raw.length + 1)
        raw = raw.slice(0, place) + put + raw.slice(place + cut)
      }
      return { raw, tools: samples.flatMap(({ tools }) => tools) }
    })
}

describe('any output', () => {
  test.each(toolCallFormats)('%s: is read without throwing, from spans that hold what was sampled', (format) => {
    fc.assert(
      fc.property(damagedOutput(format), fc.boolean(), ({ raw, tools }, thinking) => {
        const output = parseModelOutput(raw, { format, tools, thinking })
        const sampled = output.calls.map(({ span }) => raw.slice(span.charStart, span.charEnd))
        expect(sampled).toEqual(output.calls.map(({ sampledText }) => sampledText))
        expect(output.calls.map((call) => JSON.parse(call.argumentsText))).toEqual(
          output.calls.map((call) => call.arguments),
        )
      }),
    )
  })

  test.each([...jsonFormats, ...tagFormats])('%s: reads the same however it is cut', (format) => {
    fc.assert(
      fc.property(damagedOutput(format), fc.array(fc.nat(40), { maxLength: 40 }), ({ raw, tools }, lengths) => {
        const parser = createStreamParser({ format, tools })
        const events = []
        let from = 0
        for (const length of lengths) {
          events.push(...parser.push(raw.slice(from, from + length)))
          from += length
        }
        events.push(...parser.push(raw.slice(from)))
        const { events: last, output } = parser.end()
        const said = [...events, ...last].map((event) => (event.kind === 'text' ? event.text : '')).join('')
        expect(output).toEqual(parseModelOutput(raw, { format, tools }))
        expect(said).toBe(output.text)
        expect(parser.heldBackChars).toBe(0)
      }),
    )
  })

  test.each([...jsonFormats, ...tagFormats])('%s: with repair off, every call is one that needs none', (format) => {
    fc.assert(
      fc.property(damagedOutput(format), ({ raw, tools }) => {
        const repaired = parseModelOutput(raw, { format, tools })
        const strict = parseModelOutput(raw, { format, tools, repair: 'off' })
        expect(strict.repaired).toBe(false)
        expect(strict.calls).toEqual(repaired.calls.filter((call) => call.repairs.length === 0))
      }),
    )
  })
})

describe('arguments that nest deeply', () => {
  const outputOf = (format: ToolCallFormatName, levels: number): string => {
    const nested = `{"a": ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const [open, close] = format === 'hermes' ? ['<tool_call>\n', '\n</tool_call>'] : ['[TOOL_CALLS][', ']']
    return `${open}{"name": "bash", "arguments": ${nested}}${close}`
  }

  test.each(['hermes', 'mistral'] as const)('are a call up to 500 levels, and named beyond 512: %s', (format) => {
    const parse = (levels: number) => parseModelOutput(outputOf(format, levels), { format, reasoning: 'none' })
    expect(parse(500).calls).toHaveLength(1)
    for (const levels of [600, 5_000, 100_000]) {
      expect(parse(levels).calls).toEqual([])
      expect(parse(levels).illFormed.map(({ code }) => code)).toEqual(['too_deep'])
    }
  })
})

describe('damage', () => {
  /** Characters that mean themselves in every format, so that what is in a call must be in the text. */
  const literal = fc.stringMatching(/^[a-z0-9<>=/{}[\],:.|"' -]{0,30}$/)
  const flat = fc.dictionary(identifier, fc.stringMatching(/^[a-z0-9 .,:/-]{1,30}$/), {
    minKeys: 1,
    maxKeys: 3,
    noNullPrototype: true,
  })

  test.each([...jsonFormats, ...tagFormats])('%s: never yields an argument that is not in the text', (format) => {
    fc.assert(
      fc.property(
        identifier,
        flat,
        fc.array(fc.tuple(fc.nat(400), fc.nat(20), literal), { minLength: 1, maxLength: 3 }),
        (name, values, damages) => {
          let raw = encodeModelOutput({ calls: [{ name, arguments: values }] }, { format })
          for (const [at, cut, put] of damages) {
            const place = at % (raw.length + 1)
            raw = raw.slice(0, place) + put + raw.slice(place + cut)
          }
          const strings = parseModelOutput(raw, { format }).calls.flatMap((call) => stringsOf(call.arguments))
          expect(strings.filter((text) => !raw.includes(text))).toEqual([])
        },
      ),
    )
  })
})

function stringsOf(value: JsonValue): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((member) => stringsOf(member as JsonValue))
}
