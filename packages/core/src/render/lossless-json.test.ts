import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderChatTemplate } from './chat-template.ts'
import { parseLosslessJson } from './lossless-json.ts'

/** JSON text, read and written again as Python's `json.dumps(json.loads(text))` writes it. */
const rewritten = (text: string): string => renderChatTemplate('{{ x|tojson }}', { x: parseLosslessJson(text) })

describe('parseLosslessJson', () => {
  test.each([
    [
      '{"1": 1.0, "b": 2, "0": 1e-7, "a": 12345678901234567890}',
      '{"1": 1.0, "b": 2, "0": 1e-07, "a": 12345678901234567890}',
    ],
    ['{"a": 1, "b": 2, "a": 3}', '{"a": 3, "b": 2}'],
    ['[1, -0, -0.0, 1E2, 1e400, 0.1, 9007199254740993]', '[1, 0, -0.0, 100.0, Infinity, 0.1, 9007199254740993]'],
    [' \t\r\n[ ] ', '[]'],
    ['{ }', '{}'],
    ['"\\ud83d\\ude00\\n\\u00e9\\/\\b\\f\\r\\t\\"\\\\"', '"😀\\né/\\b\\f\\r\\t\\"\\\\"'],
    ['"\\ud83d"', '"\ud83d"'],
    ['[true, false, null, NaN, -Infinity]', '[true, false, null, NaN, -Infinity]'],
    ['{"__proto__": 1, "constructor": {"toString": []}}', '{"__proto__": 1, "constructor": {"toString": []}}'],
  ])('%s', (text, expected) => {
    expect(rewritten(text)).toBe(expected)
  })

  test.each([
    ['', 'JSON at char 0: expected a value, found the end'],
    ['{"a": 1,}', 'JSON at char 8: expected a key in double quotes, found "}"'],
    ['{"a" 1}', 'JSON at char 5: expected ":", found "1}"'],
    ['[1, 2', 'JSON at char 5: expected "," or "]", found the end'],
    ['{"a": 1', 'JSON at char 7: expected "," or "}", found the end'],
    ['01', 'JSON at char 1: expected the end of the text, found "1"'],
    ['"a\nb"', 'JSON at char 2: expected a character or the closing quote of a string'],
    ['"\\x41"', 'JSON at char 2: expected an escape, found "x41""'],
    ['"\\u12g4"', 'JSON at char 2: expected four hexadecimal digits'],
    ["{'a': 1}", 'JSON at char 1: expected a key in double quotes'],
    ['\ufeff1', 'JSON at char 0: expected a value'],
    ['+1', 'JSON at char 0: expected a value'],
    ['1 2', 'JSON at char 2: expected the end of the text, found "2"'],
    ['tru', 'JSON at char 0: expected a value, found "tru"'],
    ['['.repeat(1002), 'JSON at char 1001: expected at most 1000 levels'],
  ])('refuses %j', (text, message) => {
    expect(() => parseLosslessJson(text)).toThrow(
      expect.objectContaining({ code: 'value_invalid', message: expect.stringContaining(message) }),
    )
  })

  test('reads a thousand levels', () => {
    expect(rewritten('['.repeat(1000) + ']'.repeat(1000))).toBe('['.repeat(1000) + ']'.repeat(1000))
  })

  test('reads whatever JSON.stringify writes, to the same values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(rewritten(JSON.stringify(value)))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('integers have as many digits as Python reads', () => {
    const digits = '1'.repeat(4300)
    expect(rewritten(`[${digits}]`)).toBe(`[${digits}]`)
    expect(() => parseLosslessJson(`[${digits}1]`)).toThrow('an integer of at most 4300 digits')
  })

  test('takes exactly what JSON.parse takes, NaN and Infinity aside', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1',
      '-',
      '0',
      '.5',
      'e3',
      'true',
      'null',
      ' ',
      '\\',
    )
    const accepts = (parse: () => unknown): boolean => {
      try {
        parse()
        return true
      } catch {
        return false
      }
    }
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('')
        expect(accepts(() => parseLosslessJson(text))).toBe(accepts(() => JSON.parse(text)))
      }),
    )
  })
})
