import { describe, expect, test } from 'vitest'
import { parseModelOutput } from '../parse-model-output.ts'
import { type Example, exampleTools, expectExample } from './read-example.ts'

const kimiCall = (id: string, args: string): string =>
  `<|tool_call_begin|>${id}<|tool_call_argument_begin|>${args}<|tool_call_end|>`
const kimiSection = (...calls: readonly string[]): string =>
  `<|tool_calls_section_begin|>${calls.join('')}<|tool_calls_section_end|>`
const kimi: readonly Example[] = [
  [
    'the index belongs to the id, not to the name',
    kimiSection(kimiCall('functions.bash:12', '{"command": "ls"}')),
    { calls: [['bash', { command: 'ls' }]] },
  ],
  [
    'an id without the namespace',
    kimiSection(kimiCall('bash:0', '{"command": "ls"}')),
    { calls: [['bash', { command: 'ls' }]] },
  ],
  [
    'an id without an index',
    kimiSection(kimiCall('functions.bash', '{"command": "ls"}')),
    { calls: [['bash', { command: 'ls' }]], repairs: ['tool_name'] },
  ],
  [
    'a dotted name is whole',
    kimiSection(kimiCall('functions.mcp__fs.read:0', '{"path": "a"}')),
    { calls: [['mcp__fs.read', { path: 'a' }]] },
  ],
  [
    'invalid escapes',
    kimiSection(kimiCall('functions.bash:0', '{"command": "cd C:\\user"}')),
    { calls: [['bash', { command: 'cd C:\\user' }]], repairs: ['invalid_escape'] },
  ],
  [
    'a raw line break',
    kimiSection(kimiCall('functions.bash:0', '{"command": "a\nb"}')),
    { calls: [['bash', { command: 'a\nb' }]], repairs: ['control_character'] },
  ],
  [
    'a bracket missing in front of the end',
    kimiSection(kimiCall('functions.bash:0', '{"command": "ls"')),
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_bracket'] },
  ],
  [
    'cut in the arguments',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{"command": "l',
    { illFormed: ['truncated'] },
  ],
  ['cut in the id', '<|tool_calls_section_begin|><|tool_call_begin|>functions.ba', { illFormed: ['truncated'] }],
  ['cut behind the section', 'ok<|tool_calls_section_begin|>', { text: 'ok', illFormed: ['truncated'] }],
  [
    'the end of the section is missing',
    `<|tool_calls_section_begin|>${kimiCall('functions.list_todos:0', '{}')}`,
    { calls: [['list_todos', {}]], repairs: ['missing_end_tag'] },
  ],
  [
    'no arguments for a tool that requires none',
    kimiSection(kimiCall('functions.list_todos:0', '')),
    { calls: [['list_todos', {}]], repairs: ['empty_arguments'] },
  ],
  [
    'none for a tool that requires some',
    kimiSection(kimiCall('functions.bash:0', '')),
    { illFormed: ['missing_arguments'] },
  ],
  [
    'bad and good calls',
    kimiSection(
      kimiCall('functions.bash:0', '{"command": "a "b""}'),
      kimiCall('functions.bash:1', '{"command": "ls"}'),
    ),
    { calls: [['bash', { command: 'ls' }]], illFormed: ['unescaped_quote'] },
  ],
  [
    'a call in open reasoning ends it',
    `plan ${kimiSection(kimiCall('functions.bash:0', '{"command": "ls"}'))}`,
    { reasoning: 'plan', calls: [['bash', { command: 'ls' }]], repairs: ['unclosed_reasoning'] },
    { thinking: true },
  ],
  ['the older thinking tags', `◁think▷plan◁/think▷ok`, { reasoning: 'plan', text: 'ok' }, { reasoning: 'kimi' }],
]

const v31Call = (name: string, args: string): string =>
  `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${args}<｜tool▁call▁end｜>`
const deepseekSection = (...calls: readonly string[]): string =>
  `<｜tool▁calls▁begin｜>${calls.join('')}<｜tool▁calls▁end｜>`
const deepseekV31: readonly Example[] = [
  [
    'two calls and text in front',
    `ok${deepseekSection(v31Call('bash', '{"command": "a"}'), v31Call('list_todos', '{}'))}`,
    {
      text: 'ok',
      calls: [
        ['bash', { command: 'a' }],
        ['list_todos', {}],
      ],
    },
  ],
  [
    'a fence inside a string is text',
    deepseekSection(v31Call('write', '{"path": "a.md", "content": "```js\\n1\\n```"}')),
    { calls: [['write', { path: 'a.md', content: '```js\n1\n```' }]] },
  ],
  [
    'a fence around the arguments',
    deepseekSection(v31Call('bash', '```json\n{"command": "ls"}\n```')),
    { calls: [['bash', { command: 'ls' }]], repairs: ['fence'] },
  ],
  ['a tool that is called function', deepseekSection(v31Call('function', '{"x": 1}')), { illFormed: ['unknown_tool'] }],
  [
    'an end marker in a string is text',
    deepseekSection(v31Call('bash', '{"command": "<｜tool▁call▁end｜>"}')),
    { calls: [['bash', { command: '<｜tool▁call▁end｜>' }]] },
  ],
  [
    'single quotes',
    deepseekSection(v31Call('bash', "{'command': 'ls'}")),
    { calls: [['bash', { command: 'ls' }]], repairs: ['single_quote'] },
  ],
  [
    'the end of a call is missing',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "ls"}<｜tool▁calls▁end｜>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_end_tag'] },
  ],
  [
    'cut in a string',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "l',
    { illFormed: ['truncated'] },
  ],
  ['cut in front of the separator', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash', { illFormed: ['truncated'] }],
  ['a section without a call', deepseekSection(), {}],
  [
    'a section is missing',
    v31Call('bash', '{"command": "ls"}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_start_tag'] },
  ],
  [
    'arguments twice',
    deepseekSection(v31Call('bash', '{"command": "a"}{"command": "b"}')),
    { illFormed: ['concatenated_arguments'] },
  ],
]

const v3Call = (name: string, args: string): string =>
  `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${args}\n\`\`\`<｜tool▁call▁end｜>`
const deepseekV3: readonly Example[] = [
  [
    'a fence inside a string does not end that around it',
    deepseekSection(v3Call('write', '{"path": "a.md", "content": "```js\\n1\\n```"}')),
    { calls: [['write', { path: 'a.md', content: '```js\n1\n```' }]] },
  ],
  [
    'a raw line break and a fence in a string',
    deepseekSection(v3Call('bash', '{"command": "cat\n```\nx"}')),
    { calls: [['bash', { command: 'cat\n```\nx' }]], repairs: ['control_character'] },
  ],
  [
    'the fence is missing',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n{"command": "ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_fence'] },
  ],
  [
    'written as V3.1 does',
    deepseekSection(v31Call('bash', '{"command": "ls"}')),
    { calls: [['bash', { command: 'ls' }]], repairs: ['cross_format'] },
  ],
  ['an unknown tool', deepseekSection(v3Call('rm', '{}')), { illFormed: ['unknown_tool'] }],
  [
    'cut behind the fence',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n',
    { illFormed: ['truncated'] },
  ],
]

const llama: readonly Example[] = [
  [
    'several, joined by semicolons',
    '{"name": "bash", "parameters": {"command": "a"}}; {"name": "list_todos", "parameters": {}}',
    {
      calls: [
        ['bash', { command: 'a' }],
        ['list_todos', {}],
      ],
    },
  ],
  [
    'a semicolon and a brace in a string',
    '{"name": "bash", "parameters": {"command": "a; {\\"b\\": 1}"}}',
    { calls: [['bash', { command: 'a; {"b": 1}' }]] },
  ],
  [
    'text behind the tag’s call is kept',
    '<|python_tag|>{"name": "list_todos", "parameters": {}} done',
    { calls: [['list_todos', {}]], text: 'done', repairs: ['trailing_text'] },
  ],
  [
    'text in front of a call on the last line',
    'I list.\n{"name": "list_todos", "parameters": {}}',
    { text: 'I list.', calls: [['list_todos', {}]], repairs: ['leading_text'] },
  ],
  [
    'JSON in the middle of an answer',
    'So:\n{"name": "list_todos", "parameters": {}}\nworks.',
    { text: 'So:\n{"name": "list_todos", "parameters": {}}\nworks.' },
  ],
  ['an object that names no tool', '{"name": "Bingo", "age": 3}', { text: '{"name": "Bingo", "age": 3}' }],
  ['an unknown tool with arguments', '{"name": "rm", "parameters": {"x": 1}}', { illFormed: ['unknown_tool'] }],
  ['cut in a string', '{"name": "bash", "parameters": {"command": "l', { illFormed: ['truncated'] }],
  [
    'a bracket is missing in front of the end of the turn',
    '{"name": "bash", "parameters": {"command": "ls"}<|eom_id|>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_bracket'] },
  ],
  [
    'escapes',
    '<|python_tag|>{"name": "bash", "parameters": {"command": "cd C:\\utility"}}',
    { calls: [['bash', { command: 'cd C:\\utility' }]], repairs: ['invalid_escape'] },
  ],
  [
    'the end of the turn is no text',
    '<|python_tag|>{"name": "list_todos", "parameters": {}}<|eom_id|>',
    { calls: [['list_todos', {}]] },
  ],
  [
    'null for arguments',
    '{"name": "list_todos", "parameters": null}',
    { calls: [['list_todos', {}]], repairs: ['empty_arguments'] },
  ],
]

const pythonic: readonly Example[] = [
  [
    'quotes and brackets in strings',
    `[bash(command="echo ')]' [0]"), bash(command='say "x"')]`,
    {
      calls: [
        ['bash', { command: "echo ')]' [0]" }],
        ['bash', { command: 'say "x"' }],
      ],
    },
  ],
  [
    'True, None and a nested literal',
    `[ls(all=True, path=None), set_todos(todos=[{'a': (1, -2.5)}])]`,
    {
      calls: [
        ['ls', { all: true, path: null }],
        ['set_todos', { todos: [{ a: [1, -2.5] }] }],
      ],
    },
  ],
  [
    'escapes of Python',
    `[bash(command='a\\n\\t\\x41\\u00e9 \\\\ \\'q\\'')]`,
    { calls: [['bash', { command: "a\n\tAé \\ 'q'" }]] },
  ],
  [
    'a backslash that is none of them stays',
    `[bash(command="grep \\d+")]`,
    { calls: [['bash', { command: 'grep \\d+' }]] },
  ],
  [
    'a path with \\u',
    `[bash(command="C:\\user")]`,
    { calls: [['bash', { command: 'C:\\user' }]], repairs: ['invalid_escape'] },
  ],
  [
    'a triple-quoted string',
    '[write(path="a", content="""x\n"y"\n""")]',
    { calls: [['write', { path: 'a', content: 'x\n"y"\n' }]] },
  ],
  ['no arguments', '[list_todos()]', { calls: [['list_todos', {}]] }],
  ['none where some are required', '[bash()]', { calls: [['bash', {}]], schemaErrors: ['/command'] }],
  ['a variable is no literal', '[bash(command=cmd)]', { illFormed: ['unquoted_value'] }],
  ['an argument twice', '[bash(command="a", command="b")]', { illFormed: ['duplicate_parameter'] }],
  ['cut in a string', '[bash(command="l', { illFormed: ['truncated'] }],
  ['a list in prose', 'Call [bash(command="ls")] to list.', { text: 'Call [bash(command="ls")] to list.' }],
  ['a list of numbers', '[1, 2, 3]', { text: '[1, 2, 3]' }],
  [
    'an unknown tool beside a good one',
    '[rm(x=1), bash(command="ls")]',
    { calls: [['bash', { command: 'ls' }]], illFormed: ['unknown_tool'] },
  ],
  [
    'the tags of Llama 4',
    'ok<|python_start|>[list_todos()]<|python_end|><|eom|>',
    { text: 'ok', calls: [['list_todos', {}]] },
  ],
]

const mistral: readonly Example[] = [
  [
    'a marker in a string is text',
    '[TOOL_CALLS]bash[ARGS]{"command": "[TOOL_CALLS]x"}',
    { calls: [['bash', { command: '[TOOL_CALLS]x' }]] },
  ],
  ['an id', '[TOOL_CALLS]bash[CALL_ID]abc123def[ARGS]{"command": "ls"}', { calls: [['bash', { command: 'ls' }]] }],
  [
    'decoding dropped the marker of the arguments',
    '[TOOL_CALLS]bash{"command": "ls"}</s>',
    { calls: [['bash', { command: 'ls' }]] },
  ],
  [
    'the older list',
    '[TOOL_CALLS] [{"name": "bash", "arguments": {"command": "a"}}, {"name": "list_todos", "arguments": {}}]',
    {
      calls: [
        ['bash', { command: 'a' }],
        ['list_todos', {}],
      ],
    },
  ],
  [
    'invalid escapes',
    '[TOOL_CALLS]bash[ARGS]{"command": "\\w+"}',
    { calls: [['bash', { command: '\\w+' }]], repairs: ['invalid_escape'] },
  ],
  ['cut in a string', '[TOOL_CALLS]bash[ARGS]{"command": "l', { illFormed: ['truncated'] }],
  ['cut in the name', '[TOOL_CALLS]bash', { illFormed: ['truncated'] }],
  ['cut behind the marker', 'ok[TOOL_CALLS]', { text: 'ok', illFormed: ['truncated'] }],
  [
    'prose about the marker',
    'The token [TOOL_CALLS] starts a call.',
    { text: 'The token [TOOL_CALLS] starts a call.' },
  ],
  [
    'arguments twice',
    '[TOOL_CALLS]bash[ARGS]{"command": "a"}{"command": "b"}',
    { illFormed: ['concatenated_arguments'] },
  ],
  [
    'a bad and a good call',
    '[TOOL_CALLS]rm[ARGS]{}[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
    { calls: [['bash', { command: 'ls' }]], illFormed: ['unknown_tool'] },
  ],
  [
    'thinking',
    '[THINK]plan [TOOL_CALLS]bash[ARGS]{"command": "a"}[/THINK]ok',
    { reasoning: 'plan [TOOL_CALLS]bash[ARGS]{"command": "a"}', text: 'ok' },
  ],
]

const harmonyCall = (header: string, args: string): string => `<|channel|>${header}<|message|>${args}<|call|>`
const gptOss: readonly Example[] = [
  [
    'without a constraint',
    harmonyCall('commentary to=functions.bash', '{"command": "ls"}'),
    { calls: [['bash', { command: 'ls' }]] },
  ],
  [
    'a code channel instead of json',
    harmonyCall('commentary to=functions.bash <|constrain|>code', '{"command": "ls"}'),
    { calls: [['bash', { command: 'ls' }]] },
  ],
  [
    'invalid escapes',
    harmonyCall('commentary to=functions.bash <|constrain|>json', '{"command": "cd \\user"}'),
    { calls: [['bash', { command: 'cd \\user' }]], repairs: ['invalid_escape'] },
  ],
  [
    'a dotted name',
    harmonyCall('commentary to=functions.mcp__fs.read <|constrain|>json', '{"path": "a"}'),
    { calls: [['mcp__fs.read', { path: 'a' }]] },
  ],
  [
    'no namespace',
    harmonyCall('commentary to=bash <|constrain|>json', '{"command": "ls"}'),
    { calls: [['bash', { command: 'ls' }]], repairs: ['tool_name'] },
  ],
  [
    'an unknown tool',
    harmonyCall('commentary to=functions.rm <|constrain|>json', '{}'),
    { illFormed: ['unknown_tool'] },
  ],
  [
    'several calls',
    `${harmonyCall('commentary to=functions.bash', '{"command": "a"}')}<|start|>assistant${harmonyCall('commentary to=functions.list_todos', '{}')}`,
    {
      calls: [
        ['bash', { command: 'a' }],
        ['list_todos', {}],
      ],
    },
  ],
  [
    'a bad and a good call',
    `${harmonyCall('commentary to=functions.bash', '{"command": "a "b""}')}<|start|>assistant${harmonyCall('commentary to=functions.list_todos', '{}')}`,
    { calls: [['list_todos', {}]], illFormed: ['unescaped_quote'] },
  ],
  [
    'cut in a string',
    '<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command": "l',
    { illFormed: ['truncated'] },
  ],
  ['cut in the header', '<|channel|>commentary to=functions.bash', { illFormed: ['truncated'] }],
  [
    'analysis, then the answer',
    '<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>ok<|return|>',
    { reasoning: 'plan', text: 'ok' },
  ],
  ['analysis that was cut', '<|channel|>analysis<|message|>pla', { reasoning: 'pla' }],
  [
    'a token in a string',
    harmonyCall('commentary to=functions.bash', '{"command": "<|call|>"}'),
    { calls: [['bash', { command: '<|call|>' }]] },
  ],
]

const glm40414: readonly Example[] = [
  [
    'a name behind a line that ends in a backtick is quoted',
    'Run `a`\nbash\n{"command": "ls"}',
    { text: 'Run `a`\nbash\n{"command": "ls"}' },
  ],
  [
    'the last of two names in front of an object',
    'read\nbash\n{"command": "ls"}',
    { text: 'read', calls: [['bash', { command: 'ls' }]], repairs: ['leading_text'] },
  ],
  ['a name in front of an object that is none', 'Set:\nbash\n{x}', { text: 'Set:\nbash\n{x}' }],
  [
    'an object without a name, and a name of spaces',
    'Set:\n{"command": "ls"}\n \n{"command": "ls"}',
    { text: 'Set:\n{"command": "ls"}\n \n{"command": "ls"}' },
  ],
  [
    'a call behind the reasoning',
    '<think>bash\n{"command": "a"}</think>\nbash\n{"command": "b"}',
    { reasoning: 'bash\n{"command": "a"}', calls: [['bash', { command: 'b' }]], repairs: ['leading_text'] },
  ],
  [
    'a line of 300 letters is no name',
    `Go\n${'a'.repeat(300)}\n{"command": "ls"}`,
    { text: `Go\n${'a'.repeat(300)}\n{"command": "ls"}` },
  ],
  ['a name and an object', 'bash\n{"command": "ls"}', { calls: [['bash', { command: 'ls' }]] }],
  [
    'text in front of it',
    'I list.\nbash\n{"command": "ls"}',
    { text: 'I list.', calls: [['bash', { command: 'ls' }]], repairs: ['leading_text'] },
  ],
  [
    'a word and an object in the middle of an answer',
    'So\nbash\n{"command": "ls"}\nworks.',
    { text: 'So\nbash\n{"command": "ls"}\nworks.' },
  ],
  ['an unknown name', 'rm\n{"x": 1}', { text: 'rm\n{"x": 1}' }],
  ['cut in a string', 'bash\n{"command": "l', { illFormed: ['truncated'] }],
  [
    'invalid escapes',
    'bash\n{"command": "C:\\user"}<|observation|>',
    { calls: [['bash', { command: 'C:\\user' }]], repairs: ['invalid_escape'] },
  ],
]

describe.each([
  ['kimi_k2', kimi],
  ['deepseek_v31', deepseekV31],
  ['deepseek_v3', deepseekV3],
  ['llama3_json', llama],
  ['pythonic', pythonic],
  ['mistral', mistral],
  ['gpt_oss', gptOss],
  ['glm4_0414', glm40414],
] as const)('%s', (format, examples) => {
  test.each(examples.map((example) => [example[0], example] as const))('%s', (_promise, example) => {
    expectExample(format, example)
  })
})

test.each([
  ['mistral', '[TOOL_CALLS]bash[CALL_ID]abc123def[ARGS]{"command": "ls"}', 'abc123def'],
  ['mistral_pre11', '[TOOL_CALLS] [{"name": "bash", "arguments": {"command": "ls"}, "id": "abc123def"}]', 'abc123def'],
  ['kimi_k2', kimiSection(kimiCall('functions.bash:3', '{"command": "ls"}')), 'functions.bash:3'],
  ['hermes', '<tool_call>{"id": "x", "name": "bash", "arguments": {"command": "ls"}}</tool_call>', null],
] as const)('%s: the id is what the format says it is', (format, raw, id) => {
  expect(parseModelOutput(raw, { format, tools: exampleTools }).calls.map((call) => call.id)).toEqual([id])
})
