import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { explain, rules } from './engine-differences.mjs'
import { generateOutputs } from './generate-outputs.mjs'
import { loadLibrary } from './load-library.mjs'

/**
 * Compares this package with SGLang's and vLLM's own parsers on valid outputs.
 *
 * `node scripts/tool-calls/proof.mjs [outputs per format] [seed]` needs Python
 * 3.10 or later and, the first time, a package index. It fails if an output
 * reads otherwise than it was meant, or if an engine differs for a reason that
 * `engine-differences.mjs` does not know. It writes the fixture that tests
 * compare with.
 */
const sglangVersion = '0.5.23'
const vllmVersion = '0.19.1'
const packages = [
  'ijson==3.4.0.post0',
  'orjson==3.11.4',
  'partial-json-parser==0.2.1.1.post6',
  'pydantic==2.12.4',
  'regex==2025.11.3',
  // For the metadata of vLLM's source distribution, which pip asks for before it keeps it.
  'jinja2==3.1.6',
  'packaging==25.0',
  'setuptools==80.9.0',
  'setuptools-scm==9.2.2',
  'wheel==0.45.1',
]
const formats = [
  ...['hermes', 'qwen3_coder', 'glm45', 'glm47', 'kimi_k2', 'deepseek_v3', 'deepseek_v31', 'deepseek_v32'],
  ...['llama3_json', 'pythonic', 'mistral', 'mistral_pre11', 'minimax_m2', 'gpt_oss', 'step3'],
]
const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))
const cache = `${root}.cache/proof-tool-calls`
const fixture = `${root}packages/tool-calls/src/__fixtures__/engine-agreement.jsonl`

function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    stdio: ['pipe', 'pipe', 'inherit'],
    ...options,
  })
  if (result.error) throw result.error
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${result.status}\n${result.stdout}`)
  return result.stdout
}

/** Python with what the parsers import, and the two engines' sources; made once. */
function prepareEngines() {
  const python = `${cache}/venv-${sglangVersion}-${vllmVersion}/bin/python`
  const sources = { sglang: `${cache}/sglang-${sglangVersion}`, vllm: `${cache}/vllm-${vllmVersion}` }
  if (existsSync(`${sources.sglang}/done`) && existsSync(`${sources.vllm}/done`)) return { python, sources }
  mkdirSync(cache, { recursive: true })
  run('python3', ['-m', 'venv', `${cache}/venv-${sglangVersion}-${vllmVersion}`])
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages])
  const download = [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--dest',
    `${cache}/downloads`,
  ]
  const wheel = ['--only-binary=:all:', '--platform', 'manylinux_2_34_x86_64', '--python-version', '3.11']
  run(python, [...download, ...wheel, `sglang==${sglangVersion}`])
  writeTorchStandIn(`${cache}/stand-ins`)
  run(python, [...download, '--no-build-isolation', '--no-binary', 'vllm', `vllm==${vllmVersion}`], {
    env: {
      ...process.env,
      PYTHONPATH: `${cache}/stand-ins`,
      VLLM_TARGET_DEVICE: 'empty',
      VLLM_VERSION_OVERRIDE: vllmVersion,
    },
  })
  for (const [name, module] of [
    ['sglang', 'zipfile'],
    ['vllm', 'tarfile'],
  ]) {
    const file = readdirSync(`${cache}/downloads`).find((entry) => entry.startsWith(`${name}-`))
    run(python, ['-m', module, '-e', `${cache}/downloads/${file}`, sources[name]])
    writeFileSync(`${sources[name]}/done`, '')
  }
  return { python, sources }
}

/** vLLM's set-up script imports torch, and asks it for nothing that matters here. */
function writeTorchStandIn(folder) {
  mkdirSync(`${folder}/torch/utils`, { recursive: true })
  writeFileSync(`${folder}/torch/__init__.py`, '__version__ = "2.0.0"\nclass version:\n    cuda = hip = None\n')
  writeFileSync(`${folder}/torch/utils/__init__.py`, '')
  writeFileSync(`${folder}/torch/utils/cpp_extension.py`, 'CUDA_HOME = ROCM_HOME = None\n')
}

function vllmRoot(sources) {
  return `${sources.vllm}/vllm-${vllmVersion}`
}

const [count = '200', seed = '20261129'] = process.argv.slice(2)
const { encodeModelOutput, parseModelOutput } = await loadLibrary()
const { python, sources } = prepareEngines()
const rows = [...generateOutputs(encodeModelOutput, formats, Number(count), Number(seed))]
const answers = run(python, [`${here}engine_oracle.py`, sources.sglang, vllmRoot(sources)], {
  input: rows.map(({ id, format, raw, tools }) => JSON.stringify({ id, format, raw, tools })).join('\n'),
})
const engines = answers
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))

const tally = new Map()
const unexplained = []
const kept = new Map()
for (const [index, row] of rows.entries()) {
  const output = parseModelOutput(row.raw, { format: row.format, tools: row.tools })
  const ours = {
    calls: output.calls.map((call) => ({ name: call.name, arguments: call.arguments })),
    text: output.text,
  }
  const meant = {
    calls: row.calls.map((call) => ({ name: call.name, arguments: { ...call.arguments } })),
    text: row.text,
  }
  if (output.repaired || output.illFormed.length > 0 || !isDeepStrictEqual(toJson(ours), toJson(meant))) {
    unexplained.push({ engine: 'this package', row, theirs: ours })
  }
  for (const engine of ['sglang', 'vllm']) {
    const theirs = engines[index][engine]
    if (theirs === null) continue
    const agrees = isAlike(ours, theirs)
    const rule = agrees ? 'agrees' : explain(engine, row, ours, theirs)
    if (rule === null) unexplained.push({ engine, row, theirs })
    const key = `${row.format} ${engine}`
    const counts = tally.get(key) ?? {}
    counts[rule ?? 'unexplained'] = (counts[rule ?? 'unexplained'] ?? 0) + 1
    tally.set(key, counts)
    keepForFixture(row, engine, theirs, rule)
  }
}

function toJson(value) {
  return JSON.parse(JSON.stringify(value))
}

/** Whether an engine gets the same calls, and the same text but for white space around it. */
function isAlike(ours, theirs) {
  return !theirs.error && isDeepStrictEqual(toJson(ours.calls), theirs.calls) && ours.text.trim() === theirs.text.trim()
}

function keepForFixture(row, engine, theirs, rule) {
  const place = `${row.format} ${engine} ${rule}`
  const list = kept.get(place) ?? []
  const limit = rule === 'agrees' ? 12 : 2
  if (rule === null || list.length >= limit) return
  list.push({
    engine,
    rule,
    format: row.format,
    raw: row.raw,
    meant: { calls: row.calls, text: row.text },
    engineSays: theirs,
  })
  kept.set(place, list)
}

console.log(
  `SGLang ${sglangVersion}, vLLM ${vllmVersion}; ${rows.length} valid outputs, ${count} of each format, seed ${seed}`,
)
for (const [key, counts] of tally) {
  const total = Object.values(counts).reduce((sum, value) => sum + value, 0)
  const others = Object.entries(counts).filter(([rule]) => rule !== 'agrees')
  const differences = others.map(([rule, value]) => `${rule} ${value}`).join(', ')
  console.log(
    `${key.padEnd(24)} ${String(counts.agrees ?? 0).padStart(4)} of ${total} agree${differences ? `; ${differences}` : ''}`,
  )
}
console.log(`rules: ${Object.keys(rules).join(', ')}`)
if (unexplained.length > 0) {
  for (const { engine, row, theirs } of unexplained.slice(0, Number(process.env.SHOW ?? 20))) {
    console.error(`\nunexplained: ${engine} ${row.id} [${row.traits}]\n${row.raw}\n${JSON.stringify(theirs)}`)
  }
  console.error(`\n${unexplained.length} unexplained`)
  process.exitCode = 1
} else {
  const tools = JSON.stringify({ tools: rows[0]?.tools })
  writeFileSync(fixture, `${[tools, ...[...kept.values()].flat().map((entry) => JSON.stringify(entry))].join('\n')}\n`)
  console.log(`wrote ${fixture.slice(root.length)}`)
}
