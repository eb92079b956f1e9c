/**
 * Valid outputs of every format, by a seeded generator: calls of coding tools
 * with values that are easy to read, and with values that parsers are known to
 * trip over. Each output says which traits its values have, so that a
 * disagreement can be traced to one.
 */

const string = { type: 'string' }
const tool = (name, properties, required = Object.keys(properties)) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties, required } },
})

export const tools = [
  tool('read_file', { path: string, offset: { type: 'integer' }, limit: { type: 'integer' } }, ['path']),
  tool('write_file', { path: string, content: string }),
  tool('edit', { path: string, old_string: string, new_string: string, replace_all: { type: 'boolean' } }, [
    'path',
    'old_string',
    'new_string',
  ]),
  tool('bash', { command: string, timeout: { type: 'number' } }, ['command']),
  tool('set_todos', { todos: { type: 'array', items: { type: 'object' } } }),
  tool('configure', { options: { type: 'object' }, enabled: { type: 'boolean' } }),
  tool('list_todos', {}),
]

const plainStrings = [
  ...[
    'src/main.py',
    'README.md',
    'a',
    'ls -la',
    'git status && git diff',
    'grep -rn "TODO" src',
    "sed -i 's/a/b/g' x.txt",
  ],
  ...[
    'import re\nprint(re.compile(r"\\d+"))',
    'const a = { b: [1, 2] };',
    'C:\\new\\docs',
    'naïve café',
    '北京 天气',
    '😀 ok',
  ],
  ...[
    'line one\nline two',
    '\tif x {\n\t\treturn\n\t}',
    'a && b || c; d',
    '<div class="x">Tom &amp; Jerry</div>',
    'x = {"a": 1}',
  ],
]

/** Values by the trait that makes them hard. */
const hardStrings = {
  'edge space': ['  indented', 'trailing newline\n', '\n\nboth\n\n', ' x ', '\tx'],
  literal: ['null', 'true', '5', '02134', '1e5', '{"key": "value"}', '[1, 2]', 'None', ''],
  marker: [],
}

const markers = {
  hermes: '</tool_call>',
  qwen3_coder: '</parameter>',
  glm45: '</arg_value>',
  glm47: '</arg_value>',
  kimi_k2: '<|tool_call_end|>',
  deepseek_v3: '<｜tool▁call▁end｜>',
  deepseek_v31: '<｜tool▁call▁end｜>',
  deepseek_v32: '</｜DSML｜parameter>',
  llama3_json: '; {"name"',
  pythonic: ')]',
  mistral: '[TOOL_CALLS]',
  mistral_pre11: ']',
  minimax_m2: '</parameter>',
  gpt_oss: '<|call|>',
  step3: '</steptml:parameter>',
}

export function* generateOutputs(encode, formats, count, seed) {
  const random = mulberry32(seed)
  const pick = (list) => list[Math.floor(random() * list.length)]
  for (const format of formats) {
    for (let index = 0; index < count; index += 1) {
      const traits = new Set()
      const text = () => {
        const kind = random()
        if (kind < 0.8) return pick(plainStrings)
        if (kind < 0.88) return traits.add('edge space') && pick(hardStrings['edge space'])
        if (kind < 0.95) return traits.add('literal') && pick(hardStrings.literal)
        traits.add('marker')
        return `see ${markers[format]} here`
      }
      const calls = Array.from({ length: random() < 0.25 ? 2 : 1 }, () => makeCall(pick, random, text))
      if (calls.length > 1) traits.add('parallel')
      if (calls.some((call) => Object.keys(call.arguments).length === 0)) traits.add('no arguments')
      const preamble = random() < 0.4 ? 'I look at it first.' : ''
      if (preamble !== '') traits.add('text')
      const raw = encode({ text: preamble, calls }, { format })
      yield { id: `${format}-${index}`, format, raw, traits: [...traits], tools, calls, text: preamble }
    }
  }
}

function makeCall(pick, random, text) {
  const maybe = (members) => (random() < 0.5 ? members : {})
  const { name } = pick(tools).function
  const integer = Math.floor(random() * 2000)
  const made = {
    read_file: () => ({ path: text(), ...maybe({ limit: integer }), ...maybe({ offset: -integer }) }),
    write_file: () => ({ path: 'a.txt', content: text() }),
    edit: () => ({ path: 'a.py', old_string: text(), new_string: text(), ...maybe({ replace_all: random() < 0.5 }) }),
    bash: () => ({ command: text(), ...maybe({ timeout: Math.round(random() * 1000) / 10 }) }),
    set_todos: () => ({
      todos: [
        { title: text(), done: random() < 0.5 },
        { title: 'b', done: null },
      ].slice(0, random() < 0.5 ? 1 : 2),
    }),
    configure: () => ({
      options: { level: integer, name: text(), nested: { list: [1, 'a', null] } },
      enabled: random() < 0.5,
    }),
    list_todos: () => ({}),
  }
  return { name, arguments: made[name]() }
}

/** Numbers in [0, 1) from a 32-bit seed. */
function mulberry32(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
