import { describe, expect, test } from 'vitest'
import { compileChatTemplate, renderChatTemplate } from './chat-template.ts'

const failure = (line: number, pythonType: string, message: string) =>
  expect.objectContaining({
    code: 'trajectory_template',
    message: expect.stringContaining(message),
    details: { line, pythonType, isRaised: pythonType === 'TemplateError' },
  })

describe('a chat template', () => {
  test('is compiled once and rendered many times without remembering anything', () => {
    const template = compileChatTemplate(
      '{% set ns = namespace(n=0) %}{% for x in xs %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}{{ seen is defined }}{% set seen = 1 %}',
    )
    expect([template.render({ xs: [1, 2] }), template.render({ xs: [] }), template.render({ xs: [5] })]).toEqual([
      '3False',
      '0False',
      '5False',
    ])
  })

  test('reads the clock that it is given', () => {
    const now = () => new Date(2024, 6, 26, 9, 5, 3)
    expect(renderChatTemplate("{{ strftime_now('%d %b %Y %H:%M:%S') }}", {}, { now })).toBe('26 Jul 2024 09:05:03')
  })

  test('a given variable stands before a function of that name', () => {
    expect(renderChatTemplate('{{ range }}{{ strftime_now }}', { range: 1, strftime_now: 'x' })).toBe('1x')
  })

  test('says where each character came from', () => {
    const template = compileChatTemplate('<{{ a }}{{ b }}|{{ c }}>')
    expect(template.renderTraced({ a: 'x', b: 'y', c: 'z' })).toEqual({ text: '<xy|z>', valueSpans: [] })
  })
})

describe('an error of a chat template', () => {
  test.each([
    ['a\n{{ x.y }}', failure(2, 'UndefinedError', "line 2: 'x' is undefined")],
    ["\n\n{{ raise_exception('no ' ~ 1) }}", failure(3, 'TemplateError', 'no 1')],
    ['{% for x in [1] %}\n{{ x }}\n{{ x + "a" }}{% endfor %}', failure(3, 'TypeError', 'unsupported operand')],
    [
      '{% if true %}\n{% elif nope.x %}{% endif %}{{ [].append(1) }}',
      failure(2, 'SecurityError', "attribute 'append'"),
    ],
    ['{% macro m() %}\n\n{{ 1 }}{% endmacro %}\n{{ m() ~ (1 // 0) }}', failure(4, 'ZeroDivisionError', 'by zero')],
    ['{{ range(100001) }}', failure(1, 'OverflowError', 'MAX_RANGE')],
    ['{{ "x" * 10 ** 9 }}', failure(1, 'MemoryError', 'too long')],
    ['{{ "a".rjust(10 ** 12) }}', failure(1, 'MemoryError', 'too long')],
    ['{{ 7 ** 9999999 }}', failure(1, 'NotImplementedError', 'not supported')],
    ['{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}', failure(1, 'RecursionError', 'call stack')],
  ])('%j names its line, its cause and the exception of Python', (source, expected) => {
    expect(() => renderChatTemplate(source, {})).toThrow(expected)
  })

  test.each([
    ['a\n\n{% if x %}', failure(3, 'TemplateSyntaxError', 'Unexpected end of template')],
    ['\n{{ 1 + }}', failure(2, 'TemplateSyntaxError', 'unexpected')],
    ['{{ x|nope }}', failure(1, 'TemplateSyntaxError', "No filter named 'nope'")],
    ['{# open', failure(1, 'TemplateSyntaxError', 'Missing end of comment')],
    ['{% raw %}open', failure(1, 'TemplateSyntaxError', 'Missing end of raw')],
    ["{{ 'a' ; }}\n", failure(1, 'TemplateSyntaxError', "expected token 'variable-end'")],
    ['{{ ? }}', failure(1, 'TemplateSyntaxError', "unexpected char '?'")],
    ['{% autoescape true %}{% endautoescape %}', failure(1, 'TemplateSyntaxError', 'not supported')],
    ['{{ self.x() }}', failure(1, 'TemplateSyntaxError', 'self is not supported')],
    [`{{ ${'('.repeat(100_000)}1${')'.repeat(100_000)} }}`, failure(1, 'RecursionError', 'call stack')],
  ])('%.40j is found when it is compiled', (source, expected) => {
    expect(() => compileChatTemplate(source)).toThrow(expected)
  })

  test.each(['lipsum()', '[1]|random', '[1]|pprint', "'a.b'|urlize", "'a'.encode()", "('-1'|int) ** 0.5"])(
    '{{ %s }} says that it is not supported',
    (expression) => {
      expect(() => renderChatTemplate(`{{ ${expression} }}`, {})).toThrow(
        failure(1, 'NotImplementedError', 'is not supported by this interpreter'),
      )
    },
  )
})

describe('work is linear in the text', () => {
  const long = 'a b\n'.repeat(100_000)

  test.each([
    ['{{ x.strip() }}', 4 * 100_000 - 1],
    ['{{ (" " * 300000 ~ x).strip()|length }}', 6],
    ['{{ x.split()|length }}', 6],
    ['{{ x.rsplit()|length }}', 6],
    ['{{ x.replace("a", "bb")|length }}', 6],
    ['{{ x|tojson|length }}', 6],
    ['{% for line in x.split("\n") %}{{ line }}{% endfor %}', 300_000],
    ['{% for c in x %}{{ c }}{% endfor %}', 400_000],
  ])('%s', (source, length) => {
    expect(compileChatTemplate(source).renderTraced({ x: long }).text).toHaveLength(length)
  })
})
