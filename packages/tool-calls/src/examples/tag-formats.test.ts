import { describe, test } from 'vitest'
import { type Example, expectExample } from './read-example.ts'

const glm45 = (name: string, ...parameters: readonly (readonly [string, string])[]): string => {
  const written = parameters.map(([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`)
  return `<tool_call>${name}\n${written.join('')}</tool_call>`
}
const glm: readonly Example[] = [
  [
    'a key that is not closed is a misspelt tag',
    '<tool_call>bash\n<arg_key>command\nls\n</tool_call>',
    { illFormed: ['bad_open_tag'] },
  ],
  [
    'a key tag without a key is a misspelt tag',
    '<tool_call>bash\n<arg_key></tool_call>',
    { illFormed: ['bad_open_tag'] },
  ],
  [
    'so is one that is written twice',
    '<tool_call>bash\n<arg_key><arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>',
    { illFormed: ['bad_open_tag'] },
  ],
  ['a name on the line of the tag', glm45('bash', ['command', 'ls']), { calls: [['bash', { command: 'ls' }]] }],
  [
    'values are verbatim',
    glm45('write', ['path', ' a '], ['content', '\n\n x\n']),
    { calls: [['write', { path: ' a ', content: '\n\n x\n' }]] },
  ],
  [
    'numbers by the schema',
    glm45('read', ['path', '5'], ['limit', '5']),
    { calls: [['read', { path: '5', limit: 5 }]] },
  ],
  ['no parameters', glm45('list_todos'), { calls: [['list_todos', {}]] }],
  ['nothing given where something is required', glm45('bash'), { illFormed: ['missing_arguments'] }],
  [
    'a space behind the name',
    '<tool_call>bash \n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>',
    { calls: [['bash', { command: 'ls' }]] },
  ],
  [
    'a close tag in a value',
    glm45('bash', ['command', 'echo </arg_value> x </tool_call> y']),
    { calls: [['bash', { command: 'echo </arg_value> x </tool_call> y' }]] },
  ],
  [
    'close tags in a value that look like its end leave its end unknown',
    glm45('bash', ['command', 'echo </arg_value> </tool_call> x']),
    { illFormed: ['ambiguous_nesting'] },
  ],
  [
    'backslashes, quotes, emoji and control characters are text',
    glm45('bash', ['command', 'C:\\user "\u0007" 😀 \\u12']),
    { calls: [['bash', { command: 'C:\\user "\u0007" 😀 \\u12' }]] },
  ],
  ['cut in a value', '<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>l', { illFormed: ['truncated'] }],
  [
    'cut behind a value',
    '<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n',
    { illFormed: ['truncated'] },
  ],
  ['a key twice', glm45('bash', ['command', 'a'], ['command', 'b']), { illFormed: ['duplicate_parameter'] }],
  [
    'prose about the tag',
    'Use <tool_call> and </tool_call> to call.',
    { text: 'Use <tool_call> and </tool_call> to call.' },
  ],
  [
    'a bad and a good call',
    `${glm45('rm', ['x', '1'])}\n${glm45('bash', ['command', 'ls'])}`,
    { calls: [['bash', { command: 'ls' }]], illFormed: ['unknown_tool'] },
  ],
  [
    'JSON in the tags is the sibling format',
    '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['cross_format'] },
  ],
  [
    'an undeclared key is said',
    glm45('bash', ['command', 'ls'], ['cwd', '/']),
    { calls: [['bash', { command: 'ls', cwd: '/' }]], schemaErrors: ['/cwd'] },
  ],
  [
    'the end-of-turn token is no text',
    `${glm45('bash', ['command', 'ls'])}<|observation|>`,
    { calls: [['bash', { command: 'ls' }]] },
  ],
]

const invoke = (name: string, ...parameters: readonly (readonly [string, string])[]): string => {
  const written = parameters.map(([key, value]) => `<parameter name="${key}">${value}</parameter>\n`)
  return `<invoke name="${name}">\n${written.join('')}</invoke>\n`
}
const wrapped = (...calls: readonly string[]): string => `<minimax:tool_call>\n${calls.join('')}</minimax:tool_call>`
const minimax: readonly Example[] = [
  [
    'two calls in a wrapper',
    wrapped(invoke('bash', ['command', 'a']), invoke('bash', ['command', 'b'])),
    {
      calls: [
        ['bash', { command: 'a' }],
        ['bash', { command: 'b' }],
      ],
    },
  ],
  [
    'values are verbatim',
    wrapped(invoke('write', ['path', 'a'], ['content', '\n x \n'])),
    { calls: [['write', { path: 'a', content: '\n x \n' }]] },
  ],
  ['nil and none are words', wrapped(invoke('ls', ['path', 'nil'])), { calls: [['ls', { path: 'nil' }]] }],
  ['null for a nullable string is null', wrapped(invoke('ls', ['path', 'null'])), { calls: [['ls', { path: null }]] }],
  [
    'any other value for a nullable string is itself',
    wrapped(invoke('ls', ['path', '/tmp'])),
    { calls: [['ls', { path: '/tmp' }]] },
  ],
  [
    'on is no boolean',
    wrapped(invoke('ls', ['all', 'on'])),
    { calls: [['ls', { all: 'on' }]], schemaErrors: ['/all'] },
  ],
  [
    'single quotes around the name',
    "<minimax:tool_call>\n<invoke name='bash'>\n<parameter name='command'>ls</parameter>\n</invoke>\n</minimax:tool_call>",
    { calls: [['bash', { command: 'ls' }]], repairs: ['bad_tag'] },
  ],
  [
    'a call without its wrapper',
    invoke('bash', ['command', 'ls']),
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_start_tag'] },
  ],
  [
    'a close tag in a value',
    wrapped(invoke('bash', ['command', 'echo </parameter> x </invoke> y'])),
    { calls: [['bash', { command: 'echo </parameter> x </invoke> y' }]] },
  ],
  [
    'close tags in a value that look like its end leave its end unknown',
    wrapped(invoke('bash', ['command', 'echo </parameter> </invoke> x'])),
    { illFormed: ['ambiguous_nesting'] },
  ],
  [
    'cut in a value',
    '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">l',
    { illFormed: ['truncated'] },
  ],
  [
    'cut behind a call',
    '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n',
    { calls: [['bash', { command: 'ls' }]], repairs: ['missing_end_tag'] },
  ],
  [
    'a call of nothing declared in prose',
    'Write <invoke name="foo">\n</invoke> there.',
    { text: 'Write <invoke name="foo">\n</invoke> there.' },
  ],
  [
    'a call in open reasoning ends it',
    `plan\n${wrapped(invoke('bash', ['command', 'ls']))}`,
    { reasoning: 'plan', calls: [['bash', { command: 'ls' }]], repairs: ['unclosed_reasoning'] },
    { thinking: true },
  ],
]

const bar = '｜DSML｜'
const dsml = (...parameters: readonly (readonly [string, string, boolean])[]): string => {
  const written = parameters.map(
    ([key, value, isText]) => `<${bar}parameter name="${key}" string="${isText}">${value}</${bar}parameter>\n`,
  )
  return `<${bar}function_calls>\n<${bar}invoke name="write">\n${written.join('')}</${bar}invoke>\n</${bar}function_calls>`
}
const deepseek: readonly Example[] = [
  [
    'text is verbatim, whatever it spells',
    dsml(['path', 'null', true], ['content', ' 5 ', true]),
    { calls: [['write', { path: 'null', content: ' 5 ' }]] },
  ],
  [
    'JSON is JSON',
    dsml(['path', '"a"', false], ['content', '"x\\ny"', false]),
    { calls: [['write', { path: 'a', content: 'x\ny' }]] },
  ],
  [
    'a bare word under string="false" is text with a wrong tag',
    dsml(['path', 'src/a', false], ['content', 'x', true]),
    { calls: [['write', { path: 'src/a', content: 'x' }]], repairs: ['coerced_type'] },
  ],
  [
    'a tag in a value',
    dsml(['path', 'a', true], ['content', `</${bar}parameter> in code`, true]),
    { calls: [['write', { path: 'a', content: `</${bar}parameter> in code` }]] },
  ],
  [
    'markers without the bars',
    '<function_calls>\n<invoke name="bash">\n<parameter name="command" string="true">ls</parameter>\n</invoke>\n</function_calls>',
    { calls: [['bash', { command: 'ls' }]], repairs: ['bad_tag', 'marker_variant'] },
  ],
  [
    'V4 says tool_calls',
    `<${bar}tool_calls>\n<${bar}invoke name="list_todos">\n</${bar}invoke>\n</${bar}tool_calls>`,
    { calls: [['list_todos', {}]] },
  ],
  [
    'a body of broken JSON is said, not emptied',
    `<${bar}function_calls>\n<${bar}invoke name="bash">\n{"command": "a "b""}\n</${bar}invoke>\n</${bar}function_calls>`,
    { illFormed: ['unescaped_quote'] },
  ],
  [
    'cut in a value',
    `<${bar}function_calls>\n<${bar}invoke name="bash">\n<${bar}parameter name="command" string="true">l`,
    { illFormed: ['truncated'] },
  ],
  [
    'a parameter twice',
    dsml(['path', 'a', true], ['path', 'b', true], ['content', 'x', true]),
    { illFormed: ['duplicate_parameter'] },
  ],
  [
    'a bad and a good call',
    `<${bar}function_calls>\n<${bar}invoke name="rm">\n</${bar}invoke>\n<${bar}invoke name="list_todos">\n</${bar}invoke>\n</${bar}function_calls>`,
    { calls: [['list_todos', {}]], illFormed: ['unknown_tool'] },
  ],
  ['the end of the sentence is no text', `ok<｜end▁of▁sentence｜>`, { text: 'ok' }],
  [
    'an unclosed thought holds a call',
    `<think>go ${dsml(['path', 'a', true], ['content', 'x', true])}`,
    { reasoning: 'go', calls: [['write', { path: 'a', content: 'x' }]], repairs: ['unclosed_reasoning'] },
  ],
]

const stepCall = (name: string, ...parameters: readonly (readonly [string, string])[]): string => {
  const written = parameters.map(([key, value]) => `<steptml:parameter name="${key}">${value}</steptml:parameter>`)
  return `<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="${name}">${written.join('')}</steptml:invoke><｜tool_call_end｜>`
}
const section = (...calls: readonly string[]): string => `<｜tool_calls_begin｜>${calls.join('')}<｜tool_calls_end｜>`
const step3: readonly Example[] = [
  [
    'two calls and text behind them',
    `${section(stepCall('bash', ['command', 'a']), stepCall('list_todos'))} done`,
    {
      text: 'done',
      calls: [
        ['bash', { command: 'a' }],
        ['list_todos', {}],
      ],
    },
  ],
  ['values are verbatim', section(stepCall('bash', ['command', ' a\n'])), { calls: [['bash', { command: ' a\n' }]] }],
  [
    'less-than signs are text',
    section(stepCall('bash', ['command', 'a < b <c>'])),
    { calls: [['bash', { command: 'a < b <c>' }]] },
  ],
  [
    'containers by the schema',
    section(stepCall('set_todos', ['todos', '[{"a": "</steptml:parameter>"}]'])),
    { calls: [['set_todos', { todos: [{ a: '</steptml:parameter>' }] }]] },
  ],
  [
    'the end of the section is missing',
    `<｜tool_calls_begin｜>${stepCall('bash', ['command', 'a'])}`,
    { calls: [['bash', { command: 'a' }]], repairs: ['missing_end_tag'] },
  ],
  [
    'the end of a call is missing as well',
    '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="list_todos"></steptml:invoke>',
    { calls: [['list_todos', {}]], repairs: ['missing_end_tag'] },
  ],
  [
    'cut in a value',
    '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="bash"><steptml:parameter name="command">l',
    { illFormed: ['truncated'] },
  ],
  [
    'cut behind a parameter',
    '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="bash"><steptml:parameter name="command">ls</steptml:parameter>',
    { illFormed: ['truncated'] },
  ],
  [
    'a bad and a good call',
    section(stepCall('rm'), stepCall('bash', ['command', 'a'])),
    { calls: [['bash', { command: 'a' }]], illFormed: ['unknown_tool'] },
  ],
  [
    'a word for a boolean is said',
    section(stepCall('ls', ['all', 'yes'])),
    { calls: [['ls', { all: 'yes' }]], schemaErrors: ['/all'] },
  ],
  ['nothing given where something is required', section(stepCall('bash')), { illFormed: ['missing_arguments'] }],
  ['an empty section is no call', `a${section()}b`, { text: 'ab' }],
]

describe.each([
  ['glm45', glm],
  ['minimax_m2', minimax],
  ['deepseek_v32', deepseek],
  ['step3', step3],
] as const)('%s', (format, examples) => {
  test.each(examples.map((example) => [example[0], example] as const))('%s', (_promise, example) => {
    expectExample(format, example)
  })
})
