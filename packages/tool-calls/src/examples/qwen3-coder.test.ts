import type { JsonObject, ToolDefinition } from '@agentrl/spec'
import { describe, test } from 'vitest'
import { type Example, expectExample } from './read-example.ts'

const call = (name: string, ...parameters: readonly (readonly [string, string])[]): string => {
  const written = parameters.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`)
  return `<tool_call>\n<function=${name}>\n${written.join('')}</function>\n</tool_call>`
}
const write = (content: string): string => call('write', ['path', 'a'], ['content', content])
const wrote = (content: string): Example[2] => ({ calls: [['write', { path: 'a', content }]] })

const values: readonly Example[] = [
  ['exactly one line break on each side is layout', write('\n  x\n\n'), wrote('\n  x\n\n')],
  [
    'a value on the line of its tags is itself',
    '<tool_call>\n<function=bash>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>',
    { calls: [['bash', { command: 'ls' }]] },
  ],
  ['backslashes and quotes are no escapes', write('C:\\user "x" \\n'), wrote('C:\\user "x" \\n')],
  [
    'a close tag in a value is text unless structure follows',
    write('a</parameter>b\n</function> c'),
    wrote('a</parameter>b\n</function> c'),
  ],
  [
    'a close tag in front of a literal line break is text, and nothing was repaired',
    write('s = "</parameter>\\n" + x'),
    wrote('s = "</parameter>\\n" + x'),
  ],
  [
    'an opening tag of something else is text',
    write('<div>\n<parameter=other>\n1'),
    wrote('<div>\n<parameter=other>\n1'),
  ],
  ['entities are text', write('&lt;b&gt; &amp;'), wrote('&lt;b&gt; &amp;')],
  ['control characters and U+2028 are text', write('\u0000\u001b[0m\u2028'), wrote('\u0000\u001b[0m\u2028')],
  ['special tokens are text', write('<|im_end|>\n<|im_start|>user'), wrote('<|im_end|>\n<|im_start|>user')],
  ['null, true and numbers in a string are text', write('null'), wrote('null')],
  ['JSON in a string is text', write('{"a": [1,]}'), wrote('{"a": [1,]}')],
  [
    'a whole call in a value is quoted, or the value was cut',
    write(call('bash', ['command', 'ls'])),
    { illFormed: ['ambiguous_nesting'] },
  ],
]

const structure: readonly Example[] = [
  [
    'two calls in one wrapper',
    '<tool_call>\n<function=ls>\n</function>\n<function=list_todos>\n</function>\n</tool_call>',
    {
      calls: [
        ['ls', {}],
        ['list_todos', {}],
      ],
    },
  ],
  ['a call without parameters', call('list_todos'), { calls: [['list_todos', {}]] }],
  ['a call that lacks all required parameters', call('bash'), { illFormed: ['missing_arguments'] }],
  [
    'a call that lacks one is returned, and it is said',
    call('write', ['path', 'a']),
    { calls: [['write', { path: 'a' }]], schemaErrors: ['/content'] },
  ],
  ['cut in a value', '<tool_call>\n<function=bash>\n<parameter=command>\nls', { illFormed: ['truncated'] }],
  [
    'cut behind a value',
    '<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n',
    { illFormed: ['truncated'] },
  ],
  ['cut in the opening tag', '<tool_call>\n<function=ba', { illFormed: ['truncated'] }, { finishReason: 'length' }],
  [
    'cut in the wrapper’s end: the call is complete',
    '<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_',
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_end_tag'] },
    { finishReason: 'length' },
  ],
  [
    'an unclosed value ends at a declared parameter',
    '<tool_call>\n<function=write>\n<parameter=path>\na\n<parameter=content>\nb\n</parameter>\n</function>\n</tool_call>',
    { ...wrote('b'), repairs: ['missing_close_tag'] },
  ],
  [
    'a name in another case is the tool',
    call('Bash', ['command', 'ls']),
    { calls: [['bash', { command: 'ls' }]], repairs: ['tool_name'] },
  ],
  [
    'an unknown tool is said, with good calls around it',
    `${call('rm', ['x', '1'])}\n${call('bash', ['command', 'ls'])}`,
    { calls: [['bash', { command: 'ls' }]], illFormed: ['unknown_tool'] },
  ],
  [
    'JSON in the tags is the sibling format',
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['cross_format'] },
  ],
  [
    'spaces in a tag are bad tags of a declared name',
    '<tool_call>\n<function = bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['bad_tag'] },
  ],
  [
    'a quoted name is a bad tag of a declared name',
    '<tool_call>\n<function="bash">\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['bad_tag'] },
  ],
  [
    'text between the tags is a guess',
    '<tool_call>\n<function=bash>\nRun it:\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>',
    { illFormed: ['unexpected_text'] },
  ],
  [
    'a call in open reasoning ends it',
    `<think>go\n${call('bash', ['command', 'ls'])}`,
    { reasoning: 'go', calls: [['bash', { command: 'ls' }]], repairs: ['unclosed_reasoning'] },
  ],
  [
    'a call in closed reasoning is thought',
    `${call('bash', ['command', 'a'])}</think>no`,
    { reasoning: call('bash', ['command', 'a']), text: 'no' },
    { thinking: true },
  ],
  [
    'a second end of reasoning is dropped',
    '<think>a</think>\n</think>\nok',
    { reasoning: 'a', text: 'ok', repairs: ['duplicate_reasoning_end'] },
  ],
]

/** A parameter `v` of a schema, a text, and what it says. */
const typed: readonly (readonly [string, JsonObject, string, JsonObject, Partial<Example[2]>?])[] = [
  [
    'an integer keeps its digits',
    { type: 'integer' },
    '12345678901234567890',
    { v: Number('12345678901234567890') },
    { argumentsText: '{"v":12345678901234567890}' },
  ],
  ['an integer with a fraction is no integer', { type: 'integer' }, '1.5', { v: '1.5' }, { schemaErrors: ['/v'] }],
  ['a word for a number stays', { type: 'number' }, 'many', { v: 'many' }, { schemaErrors: ['/v'] }],
  ['a number keeps its spelling', { type: 'number' }, '1.50', { v: 1.5 }, { argumentsText: '{"v":1.50}' }],
  ['yes is no boolean', { type: 'boolean' }, 'yes', { v: 'yes' }, { schemaErrors: ['/v'] }],
  ['1 is no boolean', { type: 'boolean' }, '1', { v: '1' }, { schemaErrors: ['/v'] }],
  ['FALSE is one', { type: 'boolean' }, 'FALSE', { v: false }],
  ['null for a nullable string is null', { type: ['string', 'null'] }, 'null', { v: null }],
  ['null for a string that is `nullable` is null', { type: 'string', nullable: true }, 'null', { v: null }],
  ['None for a nullable integer is null', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'None', { v: null }],
  ['a reference is followed', { $ref: '#/$defs/n' }, '5', { v: 5 }],
  [
    'a reference that leads nowhere says nothing, so the text stays',
    { $ref: '#/$defs/none' },
    '5',
    { v: '5' },
    { warnings: ['union_type'] },
  ],
  ['allOf narrows', { allOf: [{ type: ['integer', 'string'] }, { type: 'integer' }] }, '5', { v: 5 }],
  ['oneOf of an array and an object', { oneOf: [{ type: 'array' }, { type: 'object' }] }, '{"a": 1}', { v: { a: 1 } }],
  ['an enum of integers is integers', { enum: [1, 2] }, '2', { v: 2 }],
  ['an enum of strings that look like numbers is strings', { enum: ['1', '2'] }, '2', { v: '2' }],
  ['an enum of both keeps the text that it names', { enum: [1, '1'] }, '1', { v: '1' }, { warnings: ['union_type'] }],
  [
    'an enum with null and the string null keeps the string',
    { enum: ['null', null] },
    'null',
    { v: 'null' },
    { warnings: ['union_type'] },
  ],
  ['a const of a number is one', { const: 7 }, '7', { v: 7 }],
  ['a value outside of an enum is said', { enum: ['a', 'b'] }, 'c', { v: 'c' }, { schemaErrors: ['/v'] }],
  [
    'a union of string and integer keeps the text',
    { type: ['string', 'integer'] },
    '5',
    { v: '5' },
    { warnings: ['union_type'] },
  ],
  [
    'an array in Python spelling is read',
    { type: 'array' },
    "['a', None]",
    { v: ['a', null] },
    { repairs: ['python_literal', 'single_quote'] },
  ],
  ['a cut array stays text, and is said', { type: 'array' }, '["a", ', { v: '["a", ' }, { schemaErrors: ['/v'] }],
  ['an encoded array is decoded', { type: 'array' }, '"[1]"', { v: [1] }, { repairs: ['double_encoded'] }],
  ['white space around a number is layout', { type: 'integer' }, ' 5 ', { v: 5 }],
  ['white space around a string is not', { type: 'string' }, ' 5 ', { v: ' 5 ' }],
  ['a schema that is `true` keeps the text', { anyOf: [true] } as unknown as JsonObject, 'x', { v: 'x' }],
  [
    'close tags in the strings of an object are text',
    { type: 'object' },
    '{"a": "</parameter>\\n</function>"}',
    { v: { a: '</parameter>\n</function>' } },
  ],
]

describe('qwen3_coder', () => {
  test.each([...values, ...structure].map((example) => [example[0], example] as const))('%s', (_promise, example) => {
    expectExample('qwen3_coder', example)
  })

  test.each(typed.map((row) => [row[0], row] as const))('%s', (promise, [, schema, text, args, more]) => {
    const parameters = { type: 'object', properties: { v: schema }, $defs: { n: { type: 'integer' } } }
    const tools: readonly ToolDefinition[] = [{ type: 'function', function: { name: 'put', parameters } }]
    expectExample('qwen3_coder', [promise, call('put', ['v', text]), { calls: [['put', args]], ...more }, { tools }])
  })
})
