import { isDeepStrictEqual } from 'node:util'

/**
 * Where the engines' parsers read a valid output otherwise than it was meant,
 * and what an engine then gets. docs/tool-calls.md says which rule decides.
 *
 * Each difference turns what was meant into what the engine gets; a
 * disagreement is explained if some of the differences that are known of the
 * engine and the format lead exactly there.
 */

const mapValues = (change) => (meant) => ({
  ...meant,
  calls: meant.calls.map((call) => ({
    ...call,
    arguments: Object.fromEntries(Object.entries(call.arguments).flatMap(([key, value]) => change(key, value))),
  })),
})

export const rules = {
  'trims values': mapValues((key, value) => [[key, typeof value === 'string' ? value.trim() : value]]),
  'trims line breaks': mapValues((key, value) => [
    [key, typeof value === 'string' ? value.replace(/^\n+/, '').replace(/\n+$/, '') : value],
  ]),
  'reads null in a string': mapValues((key, value) => [[key, /^null$/i.test(String(value)) ? null : value]]),
  'reads null and none in a string': mapValues((key, value) => [
    [key, /^(null|none|nil)$/i.test(String(value)) ? null : value],
  ]),
  'writes literals in a string as Python does': mapValues((key, value) => [[key, asPython(value)]]),
  'keeps values as text': mapValues((key, value) => [[key, typeof value === 'string' ? value : JSON.stringify(value)]]),
  'keeps containers as text': mapValues((key, value) => [
    [key, typeof value === 'object' ? JSON.stringify(value) : value],
  ]),
  'drops values with <': mapValues((key, value) => (asText(value).includes('<') ? [] : [[key, value]])),
  'drops calls without arguments': (meant) => ({
    ...meant,
    calls: meant.calls.filter((call) => Object.keys(call.arguments).length > 0),
  }),
  'reads no negative number': (meant) => ({
    ...meant,
    calls: meant.calls.filter((call) => !hasNegative(call.arguments)),
  }),
  'drops the text': (meant) => ({ ...meant, text: '' }),
  'wants a role header': (meant, row) => (row.raw.startsWith('<|channel|>commentary to=') ? nothing(row) : meant),
  'wants the list alone': (meant, row) => (row.text === '' ? meant : nothing(row)),
  'gives up at a negative number': (meant, row) =>
    meant.calls.some((call) => hasNegative(call.arguments)) ? nothing(row) : meant,
  'keeps [ARGS] in the name': (meant) => ({
    ...meant,
    calls: meant.calls.map((call) => ({ ...call, name: `${call.name}[ARGS]` })),
  }),
}

/** The whole output taken for text. */
function nothing(row) {
  return { calls: [], text: row.raw }
}

/** Values that hold the marker that ends them: what becomes of the rest differs from case to case. */
const markerRule = 'ends at a marker inside a value'

/** What a string becomes that is read as a literal and written as text again. */
function asPython(value) {
  const written = { true: 'True', false: 'False', null: 'None', '1e5': '100000.0' }
  return typeof value === 'string' ? (written[value] ?? value) : value
}

function asText(value) {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function hasNegative(value) {
  if (typeof value === 'number') return value < 0
  return typeof value === 'object' && value !== null && Object.values(value).some(hasNegative)
}

const known = {
  'sglang deepseek_v32': ['trims values'],
  'sglang glm45': ['writes literals in a string as Python does'],
  'sglang minimax_m2': ['trims line breaks', 'reads null and none in a string'],
  'sglang gpt_oss': ['wants a role header'],
  'sglang pythonic': ['reads no negative number'],
  'sglang qwen3_coder': ['reads null in a string'],
  'sglang step3': ['drops calls without arguments', 'trims values', 'drops values with <'],
  'vllm deepseek_v32': ['keeps values as text'],
  'vllm glm45': ['trims values'],
  'vllm glm47': ['trims values'],
  'vllm minimax_m2': ['trims values', 'reads null and none in a string'],
  'vllm mistral': ['keeps [ARGS] in the name'],
  'vllm pythonic': ['wants the list alone', 'gives up at a negative number'],
  'vllm qwen3_coder': ['reads null in a string'],
  'vllm step3': ['trims values', 'keeps containers as text', 'drops values with <'],
  'vllm llama3_json': ['drops the text'],
}

/** The differences that lead from what was meant to what an engine gets; null if none that are known do. */
export function explain(engine, row, meant, theirs) {
  const names = known[`${engine} ${row.format}`] ?? []
  for (let chosen = 1; chosen < 1 << names.length; chosen += 1) {
    const taken = names.filter((_, index) => (chosen >> index) & 1)
    const expected = taken.reduce((output, name) => rules[name](output, row), meant)
    const plain = JSON.parse(JSON.stringify(expected))
    if (isDeepStrictEqual(plain.calls, theirs.calls) && plain.text.trim() === theirs.text?.trim())
      return taken.join(' + ')
  }
  return row.traits.includes('marker') ? markerRule : null
}
