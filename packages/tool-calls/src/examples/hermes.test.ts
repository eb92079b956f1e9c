import { describe, test } from 'vitest'
import { type Example, expectExample } from './read-example.ts'

const call = (json: string): string => `<tool_call>\n${json}\n</tool_call>`
const bash = (command: string): string => call(`{"name": "bash", "arguments": {"command": "${command}"}}`)
const write = (content: string): string =>
  call(`{"name": "write", "arguments": {"path": "a", "content": "${content}"}}`)

const escapes: readonly Example[] = [
  [
    'valid escapes stay, even where a path was meant',
    bash('type C:\\new\\test'),
    { calls: [['bash', { command: 'type C:\new\test' }]] },
  ],
  [
    '`\\utility` is no escape: its backslash is doubled',
    bash('cd D:\\utility'),
    { calls: [['bash', { command: 'cd D:\\utility' }]], repairs: ['invalid_escape'] },
  ],
  [
    '`\\u` with three hex digits is none',
    bash('\\u12g'),
    { calls: [['bash', { command: '\\u12g' }]], repairs: ['invalid_escape'] },
  ],
  [
    'a valid `\\u` beside an invalid escape stays',
    bash('\\u00e9 \\d'),
    { calls: [['bash', { command: 'é \\d' }]], repairs: ['invalid_escape'] },
  ],
  [
    'a pair of backslashes is one, and what follows it is no escape',
    bash('\\\\d \\d'),
    { calls: [['bash', { command: '\\d \\d' }]], repairs: ['invalid_escape'] },
  ],
  [
    '`\\f` beside an invalid escape may be valid by accident',
    bash('C:\\files\\src'),
    { illFormed: ['ambiguous_escape'] },
  ],
  ["`\\'` is a quote or a backslash and a quote", bash("echo it\\'s"), { illFormed: ['ambiguous_escape'] }],
  [
    'an accident in one string does not spoil another',
    call('{"name": "write", "arguments": {"path": "a\\\\b", "content": "\\s \\f"}}'),
    { illFormed: ['ambiguous_escape'] },
  ],
  [
    'an invalid escape and a `\\f` in two strings are both certain',
    call('{"name": "write", "arguments": {"path": "\\s", "content": "\\f"}}'),
    { calls: [['write', { path: '\\s', content: '\f' }]], repairs: ['invalid_escape'] },
  ],
  [
    'a line continued with a backslash keeps both',
    bash('a \\\n  b'),
    { calls: [['bash', { command: 'a \\\n  b' }]], repairs: ['control_character', 'invalid_escape'] },
  ],
  [
    'a raw tab, a line break and a NUL are escaped',
    write('a\tb\r\nc\u0000'),
    { calls: [['write', { path: 'a', content: 'a\tb\r\nc\u0000' }]], repairs: ['control_character'] },
  ],
  [
    'U+2028, DEL and an emoji need no escape',
    write('\u2028\u007f😀'),
    { calls: [['write', { path: 'a', content: '\u2028\u007f😀' }]] },
  ],
  [
    'a pair of surrogate escapes is one character',
    write('\\ud83d\\ude00'),
    { calls: [['write', { path: 'a', content: '😀' }]] },
  ],
  ['a low surrogate alone is refused', write('\\ude00'), { illFormed: ['lone_surrogate'] }],
  ['surrogates in the wrong order are refused', write('\\ude00\\ud83d'), { illFormed: ['lone_surrogate'] }],
  [
    'a lone surrogate in a key is refused',
    call('{"name": "ls", "arguments": {"\\ud800": true}}'),
    { illFormed: ['lone_surrogate'] },
  ],
]

const structure: readonly Example[] = [
  [
    'one closing bracket missing in front of the end tag is put there',
    call('{"name": "bash", "arguments": {"command": "ls"}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_bracket'] },
  ],
  [
    'both closing brackets missing as well',
    call('{"name": "bash", "arguments": {"command": "ls"'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_bracket'] },
  ],
  [
    'without the end tag it was cut',
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"',
    { illFormed: ['truncated'] },
  ],
  [
    'a complete object without an end tag is a call',
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}',
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_end_tag'] },
  ],
  [
    'an end tag inside an open string ends nothing',
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls\n</tool_call>',
    { illFormed: ['truncated'] },
  ],
  [
    'a bracket too many is dropped',
    call('{"name": "bash", "arguments": {"command": "ls"}}}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['extra_bracket'] },
  ],
  [
    'trailing commas in arrays and objects are dropped',
    call('{"name": "set_todos", "arguments": {"todos": [{"a": 1,},],},}'),
    { calls: [['set_todos', { todos: [{ a: 1 }] }]], repairs: ['trailing_comma'] },
  ],
  [
    'two commas are not one',
    call('{"name": "set_todos", "arguments": {"todos": [1,,2]}}'),
    { illFormed: ['invalid_json'] },
  ],
  [
    'a missing comma is not put',
    call('{"name": "write", "arguments": {"path": "a" "content": "b"}}'),
    { illFormed: ['unescaped_quote'] },
  ],
  ['a missing colon is not put', call('{"name" "bash"}'), { illFormed: ['missing_colon'] }],
  [
    'NaN is no JSON',
    call('{"name": "bash", "arguments": {"command": "ls", "timeout": NaN}}'),
    { illFormed: ['non_json_number'] },
  ],
  [
    'a number with a sign is no JSON',
    call('{"name": "bash", "arguments": {"command": "ls", "timeout": +5}}'),
    { illFormed: ['non_json_number'] },
  ],
  [
    'Python literals deep inside are read',
    call('{"name": "set_todos", "arguments": {"todos": [{"done": True, "x": None}]}}'),
    { calls: [['set_todos', { todos: [{ done: true, x: null }] }]], repairs: ['python_literal'] },
  ],
  [
    'single quotes with escaped ones inside are read',
    call("{'name': 'bash', 'arguments': {'command': 'echo \\'a\\' \"b\"'}}"),
    { calls: [['bash', { command: 'echo \'a\' "b"' }]], repairs: ['single_quote'] },
  ],
  [
    'code with its quotes escaped is untouched',
    write('if (a == \\"x\\") { return [1, 2,]; }'),
    { calls: [['write', { path: 'a', content: 'if (a == "x") { return [1, 2,]; }' }]] },
  ],
  [
    'a comment with a URL in a string is none',
    bash('curl http://a.b // x /* y */'),
    { calls: [['bash', { command: 'curl http://a.b // x /* y */' }]] },
  ],
  [
    'a key twice: the last one counts, and it is said',
    call('{"name": "bash", "arguments": {"command": "a", "command": "b"}}'),
    { calls: [['bash', { command: 'b' }]], warnings: ['duplicate_key'] },
  ],
  [
    'digits beyond 2^53 are kept in the text',
    call('{"name": "read", "arguments": {"path": "a", "limit": 9007199254740993}}'),
    {
      calls: [['read', { path: 'a', limit: 9007199254740992 }]],
      argumentsText: '{"path": "a", "limit": 9007199254740993}',
    },
  ],
  [
    '512 levels are read',
    call(`{"name": "set_todos", "arguments": {"todos": [{"a": ${'['.repeat(508)}${']'.repeat(508)}}]}}`),
    { calls: [['set_todos', { todos: [{ a: JSON.parse(`${'['.repeat(508)}${']'.repeat(508)}`) }] }]] },
  ],
  [
    '513 are not',
    call(`{"name": "set_todos", "arguments": {"todos": [{"a": ${'['.repeat(509)}${']'.repeat(509)}}]}}`),
    { illFormed: ['too_deep'] },
  ],
]

const meaning: readonly Example[] = [
  [
    'arguments as a string of JSON are decoded once',
    call('{"name": "bash", "arguments": "{\\"command\\": \\"a\\\\nb\\"}"}'),
    { calls: [['bash', { command: 'a\nb' }]], repairs: ['double_encoded'] },
  ],
  [
    'twice encoded arguments are decoded twice',
    call(JSON.stringify({ name: 'bash', arguments: JSON.stringify(JSON.stringify({ command: 'ls' })) })),
    { illFormed: ['arguments_not_object'] },
  ],
  [
    'a string that a schema wants as an integer is one',
    call('{"name": "read", "arguments": {"path": "a", "limit": "5"}}'),
    { calls: [['read', { path: 'a', limit: 5 }]], repairs: ['coerced_type'] },
  ],
  [
    'a number where a string is wanted is said, not changed',
    call('{"name": "bash", "arguments": {"command": 5}}'),
    { calls: [['bash', { command: 5 }]], schemaErrors: ['/command'] },
  ],
  [
    'null for a string is said, not dropped',
    call('{"name": "bash", "arguments": {"command": null}}'),
    { calls: [['bash', { command: null }]], schemaErrors: ['/command'] },
  ],
  [
    'a missing required argument is said',
    call('{"name": "write", "arguments": {"path": "a"}}'),
    { calls: [['write', { path: 'a' }]], schemaErrors: ['/content'] },
  ],
  [
    '`parameters` for `arguments` is a repair',
    call('{"name": "bash", "parameters": {"command": "ls"}}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['renamed_key'] },
  ],
  [
    'both, and equal, are one',
    call('{"name": "bash", "arguments": {"command": "ls"}, "parameters": {"command": "ls"}}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['renamed_key'] },
  ],
  [
    'the name is trimmed',
    call('{"name": " bash ", "arguments": {"command": "ls"}}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['tool_name'] },
  ],
  [
    'a name in another case is the tool where it is the only one',
    call('{"name": "BASH", "arguments": {"command": "ls"}}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['tool_name'] },
  ],
  [
    'a declared dotted name is exact',
    call('{"name": "mcp__fs.read", "arguments": {"path": "a"}}'),
    { calls: [['mcp__fs.read', { path: 'a' }]] },
  ],
  [
    'a similar name is no name',
    call('{"name": "bash_tool", "arguments": {"command": "ls"}}'),
    { illFormed: ['unknown_tool'] },
  ],
  [
    'an empty object for a tool that requires something is said',
    call('{"name": "bash", "arguments": {}}'),
    { calls: [['bash', {}]], schemaErrors: ['/command'] },
  ],
  [
    'a list of arguments is none',
    call('{"name": "bash", "arguments": ["ls"]}'),
    { illFormed: ['arguments_not_object'] },
  ],
  [
    'a bad call does not spoil the good ones around it',
    `${bash('a')}\n${bash('echo "x" y')}\n${bash('b')}`,
    {
      calls: [
        ['bash', { command: 'a' }],
        ['bash', { command: 'b' }],
      ],
      illFormed: ['unescaped_quote'],
    },
  ],
  [
    'special tokens in an argument are text',
    bash('echo <|im_end|><|endoftext|><think>'),
    { calls: [['bash', { command: 'echo <|im_end|><|endoftext|><think>' }]] },
  ],
]

const prose: readonly Example[] = [
  ['end tokens that end the output are dropped, however many', 'done<|im_end|><|im_end|><|im_end|>', { text: 'done' }],
  ['end tokens in front of more text are text', 'a<|im_end|><|im_end|>b', { text: 'a<|im_end|><|im_end|>b' }],
  [
    'tags around a command are no call, and are warned of',
    'I list.\n<tool_call>\nls -la\n</tool_call>',
    { text: 'I list.\n<tool_call>\nls -la\n</tool_call>', warnings: ['unread_tags'] },
  ],
  ['a tag alone is spoken of', 'The <tool_call> tag starts a call.', { text: 'The <tool_call> tag starts a call.' }],
  [
    'tags in a fence are quoted, whatever they hold',
    'So:\n```\n<tool_call>\nname\n</tool_call>\n```\nis how.',
    { text: 'So:\n```\n<tool_call>\nname\n</tool_call>\n```\nis how.' },
  ],
  [
    'a call in a fence among prose is quoted',
    'Write:\n```\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>\n```\nDone.',
    { text: 'Write:\n```\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>\n```\nDone.' },
  ],
  ['a marker in backticks is quoted', 'The tag `<tool_call>` opens.', { text: 'The tag `<tool_call>` opens.' }],
  [
    'an output cut behind the opener was a call',
    'I go.\n<tool_call>',
    { text: 'I go.', illFormed: ['truncated'] },
    { finishReason: 'length' },
  ],
  [
    'an output cut inside the opener is text',
    'I go.\n<tool_ca',
    { text: 'I go.\n<tool_ca' },
    { finishReason: 'length' },
  ],
  [
    'text between and behind calls is kept',
    `a ${bash('x')} b ${bash('y')} c`,
    {
      text: 'a  b  c',
      calls: [
        ['bash', { command: 'x' }],
        ['bash', { command: 'y' }],
      ],
    },
  ],
  [
    'JSON in an answer is no call',
    'The config is {"name": "bash", "arguments": {"command": "ls"}} here.',
    { text: 'The config is {"name": "bash", "arguments": {"command": "ls"}} here.' },
  ],
  [
    'a whole reply that is a call of a declared tool is one',
    '{"name": "bash", "arguments": {"command": "ls"}}',
    { calls: [['bash', { command: 'ls' }]], repairs: ['bare_call'] },
  ],
  [
    'a whole reply that calls nothing declared is text',
    '{"name": "Bingo", "arguments": {"age": 3}}',
    { text: '{"name": "Bingo", "arguments": {"age": 3}}' },
  ],
  [
    'a call in closed reasoning is none, one behind it is',
    `<think>${bash('a')}</think>${bash('b')}`,
    { reasoning: bash('a'), calls: [['bash', { command: 'b' }]] },
  ],
  [
    'reasoning open at the start ends with the first end tag',
    `plan</think>ok ${bash('b')}`,
    { reasoning: 'plan', text: 'ok', calls: [['bash', { command: 'b' }]] },
    { thinking: true },
  ],
  [
    'reasoning that was never closed holds an incomplete call as reasoning',
    '<think>go\n<tool_call>\n{"name": "bash", "arguments": {"com',
    { reasoning: 'go\n<tool_call>\n{"name": "bash", "arguments": {"com' },
  ],
  ['without reasoning its tags are text', '<think>a</think>b', { text: '<think>a</think>b' }, { reasoning: 'none' }],
]

describe('hermes', () => {
  test.each([...escapes, ...structure, ...meaning, ...prose].map((example) => [example[0], example] as const))(
    '%s',
    (_promise, example) => {
      expectExample('hermes', example)
    },
  )
})
