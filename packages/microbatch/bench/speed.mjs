/**
 * Speed against Python in the same run: `pnpm bench:microbatch`.
 *
 *   SLIME_DIR   a clone of slime; without it its lines are left out, and that is said
 *   VERL_DIR    a clone of verl; likewise
 *   PYTHON      default python3
 *   BENCH_SIZE  `full` (default: 100,000 samples; Karmarkar-Karp in Python takes minutes
 *               and more than 5 GB) or `quick` (10,000 samples)
 *
 * Each line takes the medians of both sides over the same inputs, in turns, and
 * checks that the results are the same.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { karmarkarKarp, packFirstFit, repackLpt } from '@agentrl/microbatch'
import { seededRandom } from '@agentrl/spec'

const python = process.env.PYTHON ?? 'python3'
const isFull = process.env.BENCH_SIZE !== 'quick'
const sampleCount = isFull ? 100_000 : 10_000
const slime = process.env.SLIME_DIR
const verl = process.env.VERL_DIR
const script = fileURLToPath(new URL('upstream.py', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'agentrl-bench-'))

/** One line of the report. */
function print(line) {
  process.stdout.write(`${line}\n`)
}

function logNormal(count, seed) {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return Math.max(1, Math.round(Math.exp(8 + 1.2 * normal)))
  })
}

function median(values) {
  const sorted = [...values].sort((left, right) => left - right)
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2
}

/** One row of the table: medians of both sides, their ratio, and whether the bins agree. */
function compare({ title, lengths, size, ours, theirs, checkout, rounds }) {
  const path = join(folder, 'lengths.json')
  writeFileSync(path, JSON.stringify(lengths))
  const seconds = { ours: [], theirs: [] }
  let isSame = true
  for (let round = 0; round < rounds; round += 1) {
    const output = execFileSync(python, [script, theirs, path, String(size), '1', ...(checkout ? [checkout] : [])], {
      maxBuffer: 2 ** 30,
    })
    const answer = JSON.parse(output.toString())
    seconds.theirs.push(...answer.seconds)
    const start = performance.now()
    const bins = ours(lengths, size)
    seconds.ours.push((performance.now() - start) / 1000)
    isSame &&= JSON.stringify(bins) === JSON.stringify(answer.bins)
  }
  const [a, b] = [median(seconds.ours), median(seconds.theirs)]
  const cells = [title, rounds, `${(a * 1000).toFixed(1)} ms`, `${(b * 1000).toFixed(1)} ms`]
  print(`| ${[...cells, `${(b / a).toFixed(1)}×`, isSame ? 'yes' : 'NO'].join(' | ')} |`)
  if (!isSame) process.exitCode = 1
}

const lengths = logNormal(sampleCount, 1)
const some = logNormal(sampleCount / 10, 2)
const count = (list) => list.length.toLocaleString('en')

print(`${cpus().length} × ${cpus()[0].model}, Node ${process.version}, ${execFileSync(python, ['--version'])}`)
print('| what | rounds | @agentrl/microbatch | Python | ratio | same bins |')
print('|---|---|---|---|---|---|')
try {
  const lpt = { ours: repackLpt, theirs: 'heap-lpt', size: 512 }
  compare({ ...lpt, title: `LPT, ${count(lengths)} into 512, heap-based Python`, lengths, rounds: 9 })
  const karmarkar = { ours: karmarkarKarp, size: 512 }
  if (slime) {
    const ofSlime = { ...karmarkar, theirs: 'slime-kk', checkout: slime }
    compare({ ...ofSlime, title: `Karmarkar–Karp, ${count(some)} into 512, slime`, lengths: some, rounds: 3 })
    compare({ ...ofSlime, title: `Karmarkar–Karp, ${count(lengths)} into 512, slime`, lengths, rounds: 1 })
    const firstFit = { ours: packFirstFit, theirs: 'slime-first-fit', size: 32_768, checkout: slime }
    compare({ ...firstFit, title: `first fit, ${count(some)} under 32,768 tokens, slime`, lengths: some, rounds: 3 })
    compare({ ...firstFit, title: `first fit, ${count(lengths)} under 32,768 tokens, slime`, lengths, rounds: 1 })
  } else print('\nSLIME_DIR is not set: Karmarkar–Karp and first fit are not compared with slime.')
  if (verl) {
    const ofVerl = { ...karmarkar, theirs: 'verl-kk', checkout: verl }
    compare({ ...ofVerl, title: `Karmarkar–Karp, ${count(some)} into 512, verl`, lengths: some, rounds: 3 })
  } else print('\nVERL_DIR is not set: Karmarkar–Karp is not compared with verl.')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
