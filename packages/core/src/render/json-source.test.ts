import fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderChatTemplate } from './chat-template.ts'
import { parseJsonWithSources, sourceOf, sourceText } from './json-source.ts'
import { parseLosslessJson } from './lossless-json.ts'

/** Whoever reads a body keeps schemas and arguments as they were written. */
const names = new Set(['kept'])
const parse = (text: string) => parseJsonWithSources(text, names) as { readonly kept: object }
const written = (value: unknown): string => renderChatTemplate('{{ x|tojson }}', { x: value })

test.each([
  '{"a": 1.0}',
  '{"a": [12345678901234567890, -0, 1e5, 100000000000000000000, 1e400]}',
  '{"b": {"10": 1, "9": 2}, "a": 3}',
  '{ "text" : "\\"1.0\\\\" , "\\u0061\\"b" : { "x" : -1.50 } }',
])('%s is written as Python writes it', (text) => {
  const { kept } = parse(`{"other": 1.0, "kept": ${text}, "more": [1.0]}`)
  expect(sourceOf(kept)).toBe(text)
  expect(sourceText(kept)).toBe(text)
  expect(written({ kept })).toBe(written({ kept: parseLosslessJson(text) }))
})

test.each(['{"a": 1, "b": [-7, 0.5, true, null, "1.0", "2"]}', '{}', '[1, 2]', '"1.0"'])(
  '%s needs no source',
  (text) => {
    const { kept } = parse(`{"other": 1.0, "kept": ${text}}`)
    expect(sourceText(kept)).toBe(JSON.stringify(JSON.parse(text)))
  },
)

test('a member inside another is known to both', () => {
  const { kept } = parse('{"kept": {"kept": {"a": 1.0}}}') as { kept: { kept: object } }
  expect(sourceOf(kept)).toBe('{"kept": {"a": 1.0}}')
  expect(sourceOf(kept.kept)).toBe('{"a": 1.0}')
})

test('of a key that comes twice the last value counts', () => {
  expect(sourceOf(parse('{"kept": {"a": 1.0}, "kept": {"a": 1}}').kept)).toBeNull()
  expect(sourceOf(parse('{"kept": {"a": 1}, "kept": {"a": 1.0}}').kept)).toBe('{"a": 1.0}')
})

test('any value is read as JSON.parse reads it, and kept members as Python reads them', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = JSON.stringify({ a: value, kept: { value }, b: [value] }, null, space)
      const parsed = parse(text)
      expect(parsed).toEqual(JSON.parse(text))
      expect(written(parsed.kept)).toBe(written(parseLosslessJson(JSON.stringify({ value }))))
    }),
  )
})

test('any number in any place is found', () => {
  const literal = fc.tuple(
    fc.constantFrom('', '-'),
    fc.stringMatching(/^(0|[1-9]\d{0,18})(\.\d{1,18})?([eE][-+]?\d{1,3})?$/),
  )
  const place = fc.constantFrom(
    '{"a":#}',
    '{"a": #}',
    '{"a":[#]}',
    '{"a":[1,#]}',
    '{"a":[\n\t#\n]}',
    '{"#":1,"a":0}',
    '{"a":#,"b":2}',
  )
  fc.assert(
    fc.property(literal, place, ([sign, digits], shape) => {
      const text = shape.replace('#', sign + digits)
      expect(written(parse(`{"kept":${text}}`).kept)).toBe(written(parseLosslessJson(text)))
    }),
  )
})

test('what nests too deeply is refused where it has to be looked through', () => {
  const nested = (levels: number): string => `${'['.repeat(levels)}1.0${']'.repeat(levels)}`
  expect(() => parse(nested(1000))).not.toThrow()
  expect(() => parse(nested(1002))).toThrow('1000 levels')
  expect(() => parse(nested(200_000))).toThrow('1000 levels')
})
