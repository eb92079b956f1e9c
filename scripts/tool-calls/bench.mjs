import { execFileSync } from 'node:child_process'
import { jsonrepair } from 'jsonrepair'
import { loadLibrary } from './load-library.mjs'

/**
 * Measures what docs/benchmarks.md states, side by side in one run: each pair is
 * timed alternately, and a ratio is the median of the ratios of neighbours.
 *
 * `node scripts/tool-calls/bench.mjs [valid | repair | replies | adversarial | streams] [format]`
 * fails if a number that is promised is not reached.
 */
const [chosen, only] = process.argv.slice(2)
const { createStreamParser, encodeModelOutput, parseModelOutput } = await loadLibrary()

const tool = (name, properties) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties } },
})
const string = { type: 'string' }
const tools = [
  tool('write', { path: string, content: string, items: { type: 'array' } }),
  tool('bash', { command: string }),
]
const million = 1_000_000

const fill = (text, length = million) => text.repeat(Math.ceil(length / text.length)).slice(0, length)
const lines = (make, length) => {
  let text = ''
  for (let index = 0; text.length < length; index += 1) text += `${make(index)}\n`
  return text.slice(0, length)
}
const prose = (length) => lines((index) => `This is line ${index} of a text, with some words in it.`, length)
const code = (length) => lines((index) => `  const value${index} = "some "text" here"; // line ${index}`, length)

function median(values) {
  const sorted = [...values].sort((first, second) => first - second)
  return sorted[sorted.length >> 1] ?? 0
}

/** Milliseconds of CPU, of all threads of the process: what else the machine does counts for nothing. */
function time(run) {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Times two functions alternately, after rounds to warm up: as many, where nothing else is said. */
function compare(rounds, first, second, warmUp = rounds) {
  const times = { first: [], second: [], ratio: [] }
  for (let round = 0; round < warmUp + rounds; round += 1) {
    const one = time(first)
    const other = time(second)
    if (round < warmUp) continue
    times.first.push(one)
    times.second.push(other)
    times.ratio.push(other / one)
  }
  return { first: median(times.first), second: median(times.second), ratio: median(times.ratio) }
}

let isMissed = false

function report(label, text, isReached) {
  if (!isReached) isMissed = true
  console.log(`${label.padEnd(44)} ${text}${isReached ? '' : '   MISSED'}`)
}

const hermes = (args) => `<tool_call>\n{"name": "write", "arguments": ${args}}\n</tool_call>`
const options = { format: 'hermes', tools }

function benchValid() {
  console.log(
    '\nvalid arguments of 100 KB: parseModelOutput against JSON.parse of the arguments (promised: at most 2 x)',
  )
  const arrays = Array.from({ length: 1500 }, (_, id) => ({ id, name: `item ${id}`, ok: true, tags: ['a', 'b'] }))
  const shapes = {
    'one plain string': { path: 'a', content: fill('x', 100_000) },
    'lines of prose': { path: 'a', content: prose(98_000) },
    'code with quotes': { path: 'a', content: code(86_000) },
    'Chinese text': { path: 'a', content: fill('北京天气晴', 100_000) },
    'an array of objects': { path: 'a', items: arrays },
    'an array of numbers': { path: 'a', items: Array.from({ length: 15_000 }, (_, index) => index * 1.5) },
  }
  for (const [label, value] of Object.entries(shapes)) {
    const json = JSON.stringify(value)
    const raw = hermes(json)
    const { first, second, ratio } = compare(
      400,
      () => JSON.parse(json),
      () => parseModelOutput(raw, options),
      4000,
    )
    report(label, `JSON.parse ${first.toFixed(3)} ms, ours ${second.toFixed(3)} ms, ${ratio.toFixed(2)} x`, ratio <= 2)
  }
}

function benchRepair() {
  console.log(
    '\nrepairing arguments of 1 MB with raw line breaks: against jsonrepair 3.14.0 (promised: at least 10 x faster)',
  )
  const contents = {
    'lines of prose': prose(million),
    'lines of code, unquoted': prose(million).replaceAll('words', "{ 'x' }"),
  }
  for (const [label, content] of Object.entries(contents)) {
    const broken = `{"path": "a", "content": "${content}"}`
    const raw = hermes(broken)
    const { calls } = parseModelOutput(raw, options)
    if (calls[0]?.arguments.content !== content) throw new Error(`${label} was not repaired`)
    const { first, second, ratio } = compare(
      10,
      () => parseModelOutput(raw, options),
      () => jsonrepair(broken),
    )
    report(
      label,
      `jsonrepair ${second.toFixed(1)} ms, ours with parsing ${first.toFixed(1)} ms, ${ratio.toFixed(1)} x`,
      ratio >= 10,
    )
  }
}

const formats = [
  ...['hermes', 'qwen3_coder', 'glm45', 'glm47', 'glm4_0414', 'kimi_k2', 'deepseek_v3', 'deepseek_v31', 'deepseek_v32'],
  ...['llama3_json', 'pythonic', 'mistral', 'mistral_pre11', 'minimax_m2', 'gpt_oss', 'step3'],
]

function benchReplies() {
  for (const format of formats) {
    if (only !== undefined && format !== only) continue
    const calls = [
      { name: 'write', arguments: { path: 'src/a.ts', content: code(2500) } },
      { name: 'bash', arguments: { command: 'npm test' } },
    ]
    const said = {
      reasoning: prose(1500),
      text: 'I write the file, then I run the tests.',
      calls: format === 'glm4_0414' ? calls.slice(0, 1) : calls,
    }
    const raw = encodeModelOutput(said, { format })
    const run = () => {
      for (let index = 0; index < 100; index += 1) parseModelOutput(raw, { format, tools })
    }
    const { first } = compare(60, run, () => {})
    const speed = (raw.length * 100) / 1000 / first
    report(
      format,
      `${((first / 100) * 1000).toFixed(1)} us for ${raw.length} characters, ${speed.toFixed(0)} MB/s`,
      speed >= 50,
    )
  }
}

const bash = '{"command": "'
/** What each format opens and closes calls with, and how a call starts whose value never ends. */
const grammars = {
  hermes: {
    openers: ['<tool_call>'],
    closer: '</tool_call>',
    head: `<tool_call>{"name": "bash", "arguments": ${bash}`,
  },
  qwen3_coder: {
    openers: ['<tool_call>', '<function=bash>', '<function=bash><parameter=command>'],
    closer: '</parameter>',
    head: '<tool_call>\n<function=bash>\n<parameter=command>\n',
  },
  glm45: {
    openers: ['<tool_call>', '<tool_call>bash', '<arg_key>'],
    closer: '</arg_value>',
    head: '<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>',
  },
  glm47: {
    openers: ['<tool_call>', '<tool_call>bash'],
    closer: '</arg_value>',
    head: '<tool_call>bash<arg_key>command</arg_key><arg_value>',
  },
  glm4_0414: { openers: ['<|assistant|>', '\nbash\n{'], closer: '<|observation|>', head: `bash\n${bash}` },
  kimi_k2: {
    openers: ['<|tool_calls_section_begin|>', '<|tool_call_begin|>'],
    closer: '<|tool_call_end|>',
    head: `<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>${bash}`,
  },
  deepseek_v3: {
    openers: ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>'],
    closer: '<｜tool▁call▁end｜>',
    head: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n\`\`\`json\n${bash}`,
  },
  deepseek_v31: {
    openers: ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>'],
    closer: '<｜tool▁call▁end｜>',
    head: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>${bash}`,
  },
  deepseek_v32: {
    openers: ['<｜DSML｜function_calls>', '<｜DSML｜invoke name="bash">'],
    closer: '</｜DSML｜parameter>',
    head: '<｜DSML｜function_calls><｜DSML｜invoke name="bash"><｜DSML｜parameter name="command" string="true">',
  },
  llama3_json: {
    openers: ['<|python_tag|>', '\n{', '\n{"name": "bash"'],
    closer: '<|eom_id|>',
    head: `{"name": "bash", "parameters": ${bash}`,
  },
  pythonic: { openers: ['<|python_start|>', '\n[bash(command="'], closer: '<|python_end|>', head: '[bash(command="' },
  mistral: {
    openers: ['[TOOL_CALLS]', '[TOOL_CALLS]bash{'],
    closer: '[ARGS]',
    head: `[TOOL_CALLS]bash[ARGS]${bash}`,
  },
  mistral_pre11: {
    openers: ['[TOOL_CALLS] ['],
    closer: '}]',
    head: `[TOOL_CALLS] [{"name": "bash", "arguments": ${bash}`,
  },
  minimax_m2: {
    openers: ['<minimax:tool_call>', '<invoke name="bash">'],
    closer: '</parameter>',
    head: '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">',
  },
  gpt_oss: {
    openers: ['<|channel|>', '<|start|>', '<|channel|>final<|message|>x<|end|>'],
    closer: '<|call|>',
    head: `<|channel|>commentary to=functions.bash<|message|>${bash}`,
  },
  step3: {
    openers: ['<｜tool_calls_begin｜>', '<steptml:invoke name="bash">'],
    closer: '</steptml:parameter>',
    head: '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="bash"><steptml:parameter name="command">',
  },
}

/** 1 MB of each kind of hostile text, for one format. */
function adversariesOf({ openers, closer, head }) {
  const pieces = {
    braces: '{',
    'nested objects': '{"a":',
    brackets: '[',
    quotes: '"',
    'single quotes': "'",
    backslashes: '\\',
    'escaped quotes': '\\"',
    backticks: '`',
    'less-than signs': '<',
    closers: closer,
    'partial closers': closer.slice(0, -1),
    'partial openers': openers[0].slice(0, -1),
  }
  for (const opener of openers) pieces[`openers ${JSON.stringify(opener)}`] = opener
  const inputs = {
    'openers with a brace': fill(`${openers[0]}{`),
    'openers with a key': fill(`${openers[0]}{"a`),
    fences: fill('a\n```\nb\n'),
    'openers in a fence': `a\n\`\`\`\n${fill(openers[0])}`,
    'openers in reasoning': `<think>${fill(openers[0])}`,
    mixed: shuffle([...Object.values(pieces), '\n', '\n```', ' ', 'a', '<think>', '</think>', head]),
  }
  for (const [label, piece] of Object.entries(pieces)) {
    inputs[label] = fill(piece)
    inputs[`${label} in a call`] = head + fill(piece)
  }
  return inputs
}

/** Pieces in an order that is always the same. */
function shuffle(pieces) {
  let state = 20261129
  let text = ''
  while (text.length < million) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    text += pieces[(state >>> 8) % pieces.length]
  }
  return text.slice(0, million)
}

/** Looks at each input once; what takes over twice as long as plain text is timed beside it, and the worst is reported. */
function benchAdversarial(read, rounds) {
  const plain = fill('Lorem ipsum dolor sit amet, consectetur. ')
  for (const [format, grammar] of Object.entries(grammars)) {
    if (only !== undefined && format !== only) continue
    const inputs = Object.entries(adversariesOf(grammar))
    for (let round = 0; round < 3; round += 1) read(plain, format)
    const base = median(Array.from({ length: rounds }, () => time(() => read(plain, format))))
    let worst = { label: 'none', first: base, second: 0, ratio: 0 }
    for (const [label, text] of inputs) {
      const once = time(() => read(text, format))
      if (once < 2 * base && worst.ratio > 0) continue
      const times = compare(
        rounds,
        () => read(plain, format),
        () => read(text, format),
      )
      if (times.ratio > 5) console.log(`  ${format}: ${label} ${times.ratio.toFixed(1)} x`)
      if (times.ratio > worst.ratio) worst = { label, ...times }
    }
    const figures = `plain ${worst.first.toFixed(1)} ms, worst ${worst.second.toFixed(1)} ms, ${worst.ratio.toFixed(1)} x`
    report(format, `${inputs.length} inputs: ${figures} (${worst.label})`, worst.ratio <= 5)
  }
}

function stream(text, format) {
  const parser = createStreamParser({ format, tools })
  for (let from = 0; from < text.length; from += 8) parser.push(text.slice(from, from + 8))
  return parser.end().output
}

const benches = {
  valid: benchValid,
  repair: benchRepair,
  replies: benchReplies,
  adversarial: () => benchAdversarial((text, format) => parseModelOutput(text, { format, tools }), 5),
  streams: () => benchAdversarial(stream, 2),
}
const titles = {
  replies: '\nordinary replies: reasoning, text and two calls, 4 KB (promised: at least 50 MB/s)',
  adversarial: '\n1 MB of adversarial text against 1 MB of plain text (promised: at most 5 x)',
  streams: '\nthe same, streamed in pieces of 8 characters',
}

/** In a process of its own: what one leaves in the heap and in compiled code is no part of another. */
function runApart(...argv) {
  try {
    execFileSync(process.execPath, [process.argv[1], ...argv], { stdio: 'inherit' })
  } catch {
    isMissed = true
  }
}

if (chosen !== undefined && (titles[chosen] === undefined || only !== undefined)) benches[chosen]?.()
else {
  console.log(`Node ${process.version}, ${process.arch}; milliseconds of CPU`)
  for (const name of chosen === undefined ? Object.keys(benches) : [chosen]) {
    if (titles[name] === undefined) {
      runApart(name)
      continue
    }
    console.log(titles[name])
    // A process reads the outputs of one model, as a rule.
    for (const format of formats) runApart(name, format)
  }
}
if (isMissed) process.exitCode = 1
