import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bootstrapDifference, bootstrapMean } from './bootstrap.ts'
import { normalQuantileOfTail, normalTail, studentTwoSidedTail } from './distributions.ts'
import { divergence } from './divergence.ts'
import { groupAdvantages } from './group-advantages.ts'
import { lossWeights } from './loss-weights.ts'
import { trend, welch } from './means.ts'
import { passAtK, passHatK } from './pass-at-k.ts'
import { percentiles } from './percentiles.ts'
import { mcnemar, twoProportion, wilson } from './proportions.ts'

/**
 * Every number here was computed by SciPy, statsmodels, NumPy or exact integers
 * (`pnpm proof:metrics` writes the fixtures; the versions are in them), and must
 * agree to 1e-10 relative.
 */
const fixtures = JSON.parse(readFileSync(new URL('./__fixtures__/statistics.json', import.meta.url), 'utf8')) as {
  versions: Record<string, string>
  pass: { n: number; c: number; k: number; passAtK: number; passHatK: number }[]
  tails: {
    student: { df: number; t: number; pValue: number }[]
    normal: { z: number; tail: number }[]
    normalQuantiles: { tail: number; z: number }[]
  }
  wilson: { passed: number; total: number; confidence: number; low: number; high: number }[]
  twoProportion: {
    first: [number, number]
    second: [number, number]
    z: number
    pValue: number
    low: number
    high: number
  }[]
  mcnemar: { onlyFirst: number; onlySecond: number; pValue: number }[]
  welch: {
    first: number[]
    second: number[]
    confidence: number
    t: number
    df: number
    pValue: number
    low: number
    high: number
  }[]
  trend: ({ x: number[]; values: number[]; low: number; high: number } & Record<
    'slope' | 'intercept' | 'standardError' | 't' | 'df' | 'pValue' | 'rSquared',
    number
  >)[]
  bootstrap: {
    first: number[]
    second: number[]
    resamples: number
    seed: number
    mean: { estimate: number; standardError: number; interval: [number, number] }
    unpaired: { estimate: number; standardError: number; interval: [number, number] }
  }[]
  percentiles: { values: number[]; at: number[]; expected: number[] }[]
  divergence: ({
    rollout: number[]
    trainer: number[]
    mask: number[]
    gapPercentiles: number[]
    meanGap: number
  } & Record<'k1' | 'k2' | 'k3' | 'entropy', number>)[]
}

/** The largest relative error; what is expected to be 0 must be 0. */
function worstError(pairs: readonly (readonly [met: number, expected: number])[]): number {
  return pairs.reduce((worst, [met, expected]) => {
    if (Number.isNaN(met)) return Number.POSITIVE_INFINITY
    return met === expected ? worst : Math.max(worst, Math.abs(met - expected) / Math.abs(expected))
  }, 0)
}

test('the fixtures name the versions that made them', () => {
  expect(Object.keys(fixtures.versions)).toEqual(['python', 'numpy', 'scipy', 'statsmodels'])
})

describe('agreement to 1e-10 relative', () => {
  test('pass@k and pass^k with exact binomial coefficients', () => {
    expect(fixtures.pass.length).toBeGreaterThan(40)
    expect(worstError(fixtures.pass.map(({ n, c, k, ...row }) => [passAtK(n, c, k), row.passAtK]))).toBeLessThan(1e-10)
    const possible = fixtures.pass.filter((row) => row.passHatK > 1e-300)
    expect(worstError(possible.map(({ n, c, k, ...row }) => [passHatK(n, c, k), row.passHatK]))).toBeLessThan(1e-10)
  })

  test('normal and Student tails and quantiles with SciPy', () => {
    const { student, normal, normalQuantiles } = fixtures.tails
    expect(worstError(student.map(({ t, df, pValue }) => [studentTwoSidedTail(t, df), pValue]))).toBeLessThan(1e-10)
    expect(worstError(normal.map(({ z, tail }) => [normalTail(z), tail]))).toBeLessThan(1e-10)
    expect(worstError(normalQuantiles.map(({ tail, z }) => [normalQuantileOfTail(tail), z]))).toBeLessThan(1e-10)
  })

  test('Wilson intervals with statsmodels', () => {
    const pairs = fixtures.wilson.flatMap(({ passed, total, confidence, low, high }) => {
      const met = wilson(passed, total, confidence)
      return [
        [met.low, low],
        [met.high, high],
      ] as const
    })
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })

  test('two proportions with statsmodels', () => {
    const pairs = fixtures.twoProportion.flatMap(({ first, second, z, pValue, low, high }) => {
      const met = twoProportion({ passed: first[0], total: first[1] }, { passed: second[0], total: second[1] })
      return [
        [met.z, z],
        [met.pValue, pValue],
        [met.interval.low, low],
        [met.interval.high, high],
      ] as const
    })
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })

  test("McNemar's exact test with statsmodels", () => {
    expect(worstError(fixtures.mcnemar.map((row) => [mcnemar(row).pValue, row.pValue]))).toBeLessThan(1e-10)
  })

  test("Welch's test with SciPy", () => {
    const pairs = fixtures.welch.flatMap(({ first, second, confidence, ...row }) => {
      const met = welch(first, second, confidence)
      return [
        [met.t, row.t],
        [met.df, row.df],
        [met.pValue, row.pValue],
        [met.interval.low, row.low],
        [met.interval.high, row.high],
      ] as const
    })
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })

  test('the least-squares line with SciPy and statsmodels', () => {
    const pairs = fixtures.trend.flatMap(({ x, values, low, high, ...row }) => {
      const met = trend(values, { x })
      return [
        [met.slope, row.slope],
        [met.intercept, row.intercept],
        [met.standardError, row.standardError],
        [met.t, row.t],
        [met.df, row.df],
        [met.pValue, row.pValue],
        [met.rSquared, row.rSquared],
        [met.interval.low, low],
        [met.interval.high, high],
      ] as const
    })
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })

  test('bootstraps with NumPy on the same resamples', () => {
    const pairs = fixtures.bootstrap.flatMap(({ first, second, resamples, seed, mean, unpaired }) => {
      const one = bootstrapMean(first, { resamples, seed })
      const two = bootstrapDifference(first, second, { design: 'unpaired', resamples, seed })
      return [
        [one.estimate, mean.estimate],
        [one.standardError, mean.standardError],
        [one.interval.low, mean.interval[0]],
        [one.interval.high, mean.interval[1]],
        [two.estimate, unpaired.estimate],
        [two.standardError, unpaired.standardError],
        [two.interval.low, unpaired.interval[0]],
        [two.interval.high, unpaired.interval[1]],
      ] as const
    })
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })

  test('percentiles with NumPy', () => {
    const pairs = fixtures.percentiles.flatMap(({ values, at, expected }) =>
      percentiles(values, at).map((met, position) => [met, expected[position] as number] as const),
    )
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })

  test('KL estimates, entropy and gaps with NumPy in extended precision', () => {
    const pairs = fixtures.divergence.flatMap(({ rollout, trainer, mask, ...row }) => {
      const met = divergence({ rolloutLogprobs: rollout, trainerLogprobs: trainer, mask })
      if (met === null) return [[Number.NaN, 0]] as const
      const { p50, p90, p99, max } = met.gap
      return [
        [met.k1, row.k1],
        [met.k2, row.k2],
        [met.k3, row.k3],
        [met.entropy, row.entropy],
        [met.gap.mean, row.meanGap],
        ...[p50, p90, p99, max].map((gap, position) => [gap, row.gapPercentiles[position] as number] as const),
      ] as const
    })
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })
})

describe('slime', () => {
  const slime = JSON.parse(readFileSync(new URL('./__fixtures__/slime.json', import.meta.url), 'utf8')) as {
    weights: ({ rolloutIds: number[]; masks: number[][]; values: number[][] } & Record<
      'per-rollout' | 'per-segment' | 'per-token',
      number
    >)[]
    advantages: { groupSize: number; rewards: number[]; isScaled: boolean; advantages: number[] }[]
  }

  test.each(['per-rollout', 'per-segment', 'per-token'] as const)(
    '%s weights give the loss that its reducers give',
    (weighting) => {
      const pairs = slime.weights.map(({ rolloutIds, masks, values, ...row }) => {
        const trainedTokens = masks.map((mask) => mask.reduce((sum, bit) => sum + bit, 0))
        const weights = lossWeights({ groupIds: rolloutIds.map(() => 0), rolloutIds, trainedTokens, weighting })
        const loss = values.reduce((sum, ofRow, row) => {
          const masked = ofRow.reduce((part, value, token) => part + value * (masks[row]?.[token] ?? 0), 0)
          return sum + (weights[row] as number) * masked
        }, 0)
        return [loss, row[weighting]] as const
      })
      expect(pairs).toHaveLength(12)
      expect(worstError(pairs)).toBeLessThan(1e-10)
    },
  )

  test('advantages equal its reward post-processing where every attempt is one sample', () => {
    const pairs = slime.advantages.flatMap(({ groupSize, rewards, isScaled, advantages }) =>
      groupAdvantages({
        rewards,
        groupIds: rewards.map((_, row) => Math.floor(row / groupSize)),
        estimator: isScaled ? 'grpo' : 'grpo-mean',
      }).advantages.map((met, row) => [met, advantages[row] as number] as const),
    )
    expect(pairs.length).toBeGreaterThan(100)
    expect(worstError(pairs)).toBeLessThan(1e-10)
  })
})
