import fc from 'fast-check'
import { expect, test } from 'vitest'
import { costsOf, flopsCost, memoryCost } from './cost-models.ts'
import { optimalPeakBySubsets } from './optimal-peak.proof.ts'
import { peakLowerBound } from './peak-lower-bound.ts'

test.each([
  { weights: [3, 3, 3], binCount: 2, bound: 6, why: 'of three samples, two share a bin' },
  { weights: [5, 1, 1], binCount: 3, bound: 5, why: 'the heaviest is somewhere' },
  { weights: [2, 2, 3], binCount: 2, bound: 4, why: 'the mean 3.5 is rounded up' },
  { weights: [0.5, 0.5, 0.5, 0.5], binCount: 4, bound: 0.5, why: 'the mean is not rounded' },
  { weights: [4, 4, 4, 4, 4, 1, 1], binCount: 2, bound: 12, why: 'of five samples, three share a bin' },
  { weights: [], binCount: 3, bound: 0, why: 'there is nothing' },
])('$weights in $binCount bins are at least $bound: $why', ({ weights, binCount, bound }) => {
  expect(peakLowerBound(weights, binCount)).toBe(bound)
})

test('the bound is the larger of the mean and the best over every j, and never above the optimum', () => {
  const few = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 7 })
  fc.assert(
    fc.property(few, fc.integer({ min: 1, max: 4 }), (weights, binCount) => {
      const sorted = [...weights].sort((left, right) => right - left)
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      const shared = sorted.map((_, last) => {
        const depth = Math.ceil((last + 1) / binCount)
        return sorted.slice(last + 1 - depth, last + 1).reduce((sum, weight) => sum + weight, 0)
      })
      const bound = peakLowerBound(weights, binCount)
      expect(bound).toBe(Math.max(Math.ceil(total / binCount), ...shared))
      expect(bound).toBeLessThanOrEqual(optimalPeakBySubsets(weights, binCount))
    }),
  )
})

test('cost models with broken shapes or costs are refused', () => {
  const invalid = expect.objectContaining({ code: 'value_invalid' })
  expect(() => flopsCost({ layers: 0, hiddenSize: 8, queryHeads: 2, feedForwardSize: 8, vocabularySize: 8 })).toThrow(
    invalid,
  )
  expect(() => flopsCost({ layers: 1, hiddenSize: 8, queryHeads: 3, feedForwardSize: 8, vocabularySize: 8 })).toThrow(
    invalid,
  )
  expect(() => memoryCost({ layers: 1, hiddenSize: 8, vocabularySize: 8, tpSize: 0 })).toThrow(invalid)
  expect(() => costsOf([1], () => Number.NaN)).toThrow(invalid)
  expect(() => costsOf([1], (tokens) => -tokens)).toThrow(invalid)
})

test('whole layers recomputed hold 2 bytes for each hidden value, and 34 otherwise', () => {
  const shape = { layers: 3, hiddenSize: 10, vocabularySize: 1 }
  expect(memoryCost({ ...shape, recompute: 'layers' })(7)).toBe(7 * (3 * 2 * 10 + 4))
  expect(memoryCost(shape)(7)).toBe(7 * (3 * 34 * 10 + 4))
})
