import { execFileSync } from 'node:child_process'
import { jsonrepair } from 'jsonrepair'
import { loadLibrary } from './load-library.mjs'

/**
 * Measures what docs/benchmarks.md states, side by side in one run: each pair is
 * timed alternately, and a ratio is the median of the ratios of neighbours.
 *
 * `node scripts/tool-calls/bench.mjs [valid | repair | replies | adversarial | streams]`
 * fails if a number that is promised is not reached.
 */
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

function time(run) {
  const start = performance.now()
  run()
  return performance.now() - start
}

/** Times two functions alternately, after as many rounds to warm up. */
function compare(rounds, first, second) {
  const times = { first: [], second: [], ratio: [] }
  for (let round = 0; round < 2 * rounds; round += 1) {
    const one = time(first)
    const other = time(second)
    if (round < rounds) continue
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
  console.log('\nordinary replies: reasoning, text and two calls, 4 KB (promised: at least 50 MB/s)')
  for (const format of formats) {
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

const opened = '<tool_call>\n{"name": "bash", "arguments": {"command": "'
const adversaries = {
  hermes: {
    openers: fill('<tool_call>'),
    closers: fill('</tool_call>'),
    'openers with a brace': fill('<tool_call>{'),
    'openers with a key': fill('<tool_call>{"a'),
    'openers with a comment': fill('<tool_call>{//'),
    'partial tags': fill('<tool_cal'),
    'less-than signs': fill('<'),
    'reasoning tags': fill('<think></think>'),
    fences: fill('\n```'),
    braces: fill('{'),
    brackets: fill('['),
    quotes: fill('"'),
    backslashes: fill('\\'),
    'braces in a call': `<tool_call>{"name": "bash", "arguments": ${fill('{"a":')}`,
    'quotes in a call': opened + fill('" '),
    'backslashes in a call': opened + fill('\\'),
    'closers in a call': opened + fill('</tool_call>'),
    'openers in reasoning': `<think>${fill('<tool_call>{')}`,
    'openers in a fence': `a\n\`\`\`\n${fill('<tool_call>{')}`,
  },
  qwen3_coder: {
    openers: fill('<tool_call>'),
    'calls that never close': fill('<function=bash>'),
    'parameters that never close': fill('<function=bash><parameter=command>'),
    'less-than signs in a value': `<tool_call>\n<function=bash>\n<parameter=command>\n${fill('<')}`,
    'close tags in a value': `<tool_call>\n<function=bash>\n<parameter=command>\n${fill('</parameter>')}`,
    'partial tags in a value': `<tool_call>\n<function=bash>\n<parameter=command>\n${fill('</param')}`,
  },
  glm45: { openers: fill('<tool_call>bash'), keys: `<tool_call>bash\n${fill('<arg_key>')}` },
  kimi_k2: { openers: fill('<|tool_call_begin|>'), sections: fill('<|tool_calls_section_begin|>') },
  deepseek_v32: { openers: fill('<｜DSML｜function_calls>') },
  llama3_json: { 'braces on lines': fill('\n{'), 'objects on lines': fill('\n{"a":[') },
  pythonic: { 'brackets on lines': fill('\n['), 'calls on lines': `x${fill('\n[bash(command="')}` },
  mistral: { openers: fill('[TOOL_CALLS]'), 'openers with a name': fill('[TOOL_CALLS]bash{') },
  gpt_oss: { headers: fill('<|channel|>'), messages: fill('<|channel|>final<|message|>x<|end|>') },
}

function benchAdversarial(read, rounds) {
  const plain = fill('Lorem ipsum dolor sit amet, consectetur. ')
  for (const [format, inputs] of Object.entries(adversaries)) {
    for (const [label, text] of Object.entries(inputs)) {
      const { first, second, ratio } = compare(
        rounds,
        () => read(plain, format),
        () => read(text, format),
      )
      report(
        `${format}: ${label}`,
        `plain ${first.toFixed(1)} ms, this ${second.toFixed(1)} ms, ${ratio.toFixed(1)} x`,
        ratio <= 5,
      )
    }
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
  adversarial: () => {
    console.log('\n1 MB of adversarial text against 1 MB of plain text (promised: at most 5 x)')
    benchAdversarial((text, format) => parseModelOutput(text, { format, tools }), 7)
  },
  streams: () => {
    console.log('\nthe same, streamed in pieces of 8 characters')
    benchAdversarial(stream, 3)
  },
}

const [chosen] = process.argv.slice(2)
console.log(`Node ${process.version}, ${process.arch}`)
if (chosen === undefined) {
  // Each in a process of its own: what one leaves in the heap and in compiled code is no part of another.
  for (const name of Object.keys(benches)) {
    try {
      execFileSync(process.execPath, [process.argv[1], name], { stdio: 'inherit' })
    } catch {
      isMissed = true
    }
  }
} else benches[chosen]?.()
if (isMissed) process.exitCode = 1
