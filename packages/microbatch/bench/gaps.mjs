/**
 * How far each strategy's peak is above the lower bound, by distribution of
 * lengths: `pnpm bench:microbatch-gaps`. The bound is max(⌈Σ/k⌉, the ⌈j/k⌉
 * lightest of the j heaviest), so part of a gap may be the bound's.
 */
import { packBalanced } from '@agentrl/microbatch'
import { seededRandom } from '@agentrl/spec'

const batches = Number(process.env.BENCH_BATCHES ?? 20)
const strategies = ['lpt', 'karmarkar-karp', 'best']

const distributions = {
  'uniform 1–32,768': (random) => 1 + Math.floor(random() * 32_768),
  'log-normal, median 3,000': (random) => clamp(Math.exp(8 + normal(random))),
  'long attempts 40,000–96,000': (random) => 40_000 + Math.floor(random() * 56_000),
  'attempts and sub-agents': (random) => (random() < 0.5 ? 60_000 + random() * 36_000 : 1000 + random() * 5000) | 0,
  'Pareto, shape 1.2': (random) => clamp(500 / (1 - random()) ** (1 / 1.2)),
}

/** One line of the report. */
function print(line) {
  process.stdout.write(`${line}\n`)
}

function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

function clamp(tokens) {
  return Math.min(131_072, Math.max(1, Math.round(tokens)))
}

const percent = (share) => (share === 0 ? '0' : `${(100 * share).toFixed(share < 0.001 ? 4 : 2)} %`)

print(`${batches} batches a row, seed 1; mean gap (largest gap) to the lower bound`)
print('| lengths | samples into bins | LPT | Karmarkar–Karp | best | best proved optimal |')
print('|---|---|---|---|---|---|')
for (const [name, draw] of Object.entries(distributions)) {
  for (const [sampleCount, binCount] of [
    [24, 8],
    [64, 16],
    [256, 32],
    [1024, 64],
  ]) {
    const random = seededRandom(1)
    const gaps = { lpt: [], 'karmarkar-karp': [], best: [] }
    let proved = 0
    for (let batch = 0; batch < batches; batch += 1) {
      const lengths = Array.from({ length: sampleCount }, () => draw(random))
      for (const strategy of strategies) {
        const { peak, lowerBound, isOptimal } = packBalanced(lengths, binCount, { strategy })
        gaps[strategy].push(peak / lowerBound - 1)
        if (strategy === 'best' && isOptimal) proved += 1
      }
    }
    const cells = strategies.map((strategy) => {
      const mean = gaps[strategy].reduce((sum, gap) => sum + gap, 0) / batches
      return `${percent(mean)} (${percent(Math.max(...gaps[strategy]))})`
    })
    print(`| ${[name, `${sampleCount} into ${binCount}`, ...cells, `${proved} of ${batches}`].join(' | ')} |`)
  }
}

/** How often the local search alone finds what the exact step proves to be the optimum. */
const searched = Number(process.env.BENCH_SEARCHED ?? 50)
print(`\n${searched} batches a cell, up to 24 samples; share of optima found without the exact step`)
print('| lengths | 2 bins | 3 | 4 | 5 | 6 | 7 | 8 | all |')
print('|---|---|---|---|---|---|---|---|---|')
for (const [name, draw] of Object.entries(distributions).slice(0, 2)) {
  const random = seededRandom(2)
  const shares = [2, 3, 4, 5, 6, 7, 8].map((binCount) => {
    let found = 0
    for (let batch = 0; batch < searched; batch += 1) {
      const lengths = Array.from({ length: binCount + Math.floor(random() * (25 - binCount)) }, () => draw(random))
      const exact = packBalanced(lengths, binCount)
      if (!exact.isOptimal) throw new Error(`no proof for ${JSON.stringify(lengths)} in ${binCount} bins`)
      if (packBalanced(lengths, binCount, { exactUpTo: 0 }).peak === exact.peak) found += 1
    }
    return found / searched
  })
  const all = shares.reduce((sum, share) => sum + share, 0) / shares.length
  print(
    `| ${[name, ...shares, all].map((cell) => (typeof cell === 'number' ? `${(100 * cell).toFixed(1)} %` : cell)).join(' | ')} |`,
  )
}
