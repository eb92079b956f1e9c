import type { Message } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { compileChatTemplate, renderChatTemplate } from './chat-template.ts'
import { parseLosslessJson } from './lossless-json.ts'
import { templateMember, templateMessages, templateTools, toTemplateValue } from './template-values.ts'

const printed = (value: unknown): string => renderChatTemplate('{{ x }}', { x: value })

describe('plain values in a template', () => {
  test.each([
    [5, '5'],
    [-0, '0'],
    [1.5, '1.5'],
    [2 ** 53, '9007199254740992.0'],
    [1e21, '1e+21'],
    [123n, '123'],
    [2n ** 70n, '1180591620717411303424'],
    [Number.NaN, 'nan'],
    [true, 'True'],
    [null, 'None'],
    [[1, undefined, 'a'], "[1, None, 'a']"],
    [{ b: 1, a: undefined, c: [{}] }, "{'b': 1, 'c': [{}]}"],
    [
      new Map<unknown, unknown>([
        [1, 'a'],
        ['1', 'b'],
      ]),
      "{1: 'a', '1': 'b'}",
    ],
    [Object.create(null), '{}'],
  ])('%o prints as Python would print it', (value, expected) => {
    expect(printed(value)).toBe(expected)
  })

  test.each([[() => 1], [Symbol('s')], [new Date(0)], [/x/]])('%o is refused', (value) => {
    expect(() => toTemplateValue(value)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
  })

  test('a cycle and what nests too deep are refused', () => {
    const cycle: unknown[] = []
    cycle.push({ cycle })
    const deep = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000))
    expect(() => toTemplateValue(cycle)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
    expect(() => toTemplateValue(deep)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
  })

  test('a variable that is undefined is not given', () => {
    expect(renderChatTemplate('{{ x is defined }}', { x: undefined })).toBe('False')
  })

  test('a converted value passes through', () => {
    const value = parseLosslessJson('{"a": 1.0}')
    expect(toTemplateValue(value)).toBe(value)
    expect(printed([value, { inner: value }])).toBe("[{'a': 1.0}, {'inner': {'a': 1.0}}]")
  })
})

describe('messages in a template', () => {
  const template = compileChatTemplate('{{ messages }}')
  const shown = (messages: readonly Message[]): string =>
    template.render({ messages: templateMessages(messages).messages })
  const called = (text: string | { readonly a: number }): Message => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }],
  })

  test('members keep their order, null stays None, undefined is left out', () => {
    const message = { content: 'x', role: 'user', extra: undefined, name: null } as unknown as Message
    expect(shown([message])).toBe("[{'content': 'x', 'role': 'user', 'name': None}]")
  })

  test('arguments that are the JSON text of an object become that object, number literals and key order kept', () => {
    expect(shown([called('{"2": 1.0, "1": 12345678901234567890}')])).toContain(
      "'arguments': {'2': 1.0, '1': 12345678901234567890}",
    )
  })

  test('arguments that are an object already stay one', () => {
    expect(shown([called({ a: 1 })])).toContain("'arguments': {'a': 1}")
  })

  test.each(['', 'not json', '[1]', '"text"', '{"a": 1'])('arguments %j stay text, and are counted', (text) => {
    expect(shown([called(text)])).toContain(`'arguments': ${renderChatTemplate('{{ [x] }}', { x: text }).slice(1, -1)}`)
    expect(templateMessages([called(text), called('{}')]).unparsedArguments).toBe(1)
  })

  test('tools keep what they hold', () => {
    const tools = templateTools([
      { type: 'function', function: { name: 'f', parameters: { type: 'object', required: [] } } },
    ])
    expect(renderChatTemplate('{{ tools|tojson }}', { tools })).toBe(
      '[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "required": []}}}]',
    )
  })

  test('tools taken out of a body keep number literals, key order and marks', () => {
    const body = '{"model": "m", "tools": [{"2": 1.0, "1": {"default": 1e-7, "maximum": 12345678901234567890}}]}'
    const tools = templateMember(parseLosslessJson(body, { isMarked: true }), 'tools')
    expect(compileChatTemplate('<{{ tools|tojson }}>').renderTraced({ tools })).toEqual({
      text: '<[{"2": 1.0, "1": {"default": 1e-07, "maximum": 12345678901234567890}}]>',
      valueSpans: [1, 71],
    })
  })

  test('what is no object, and what an object lacks, has no member', () => {
    expect(templateMember(parseLosslessJson('[1]'), 'tools')).toBeUndefined()
    expect(templateMember(parseLosslessJson('{"a": null}'), 'tools')).toBeUndefined()
    expect(templateMember(parseLosslessJson('{"a": null}'), 'a')).toBeNull()
  })

  test('marks cover every text of a message and every key in its arguments, but no known role and no member name', () => {
    const { messages } = templateMessages(
      [{ role: 'tool', content: 'c' }, { ...called('{"k": 1}'), role: 'assistant' } as Message],
      { isMarked: true },
    )
    const spans = (source: string) => compileChatTemplate(source).renderTraced({ messages }).valueSpans
    expect(spans('{{ messages[0].role }}{{ messages[0]|list }}')).toEqual([])
    expect(spans('<{{ messages[0].content }}>')).toEqual([1, 2])
    expect(
      spans('{% set call = messages[1].tool_calls[0] %}<{{ call.function.arguments|first }}{{ call.id }}>'),
    ).toEqual([1, 3])
  })
})
