import fc from 'fast-check'
import { expect, test } from 'vitest'
import { improveBins } from './improve-bins.ts'
import { repackLpt } from './repack-lpt.ts'
import { peakOf } from './weights.ts'

const options = { lowerBound: 0, effort: 60, isKicked: true, seed: 1 }

test('however often it is kicked, a packing gets no worse, and keeps every sample', () => {
  const weights = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 14 })
  fc.assert(
    fc.property(weights, fc.integer({ min: 2, max: 5 }), fc.integer({ min: 1, max: 100 }), (list, binCount, seed) => {
      const start = repackLpt(list, binCount)
      const bins = improveBins(start, list, { ...options, seed })
      expect(peakOf(bins, list)).toBeLessThanOrEqual(peakOf(start, list))
      expect(bins.flat().sort((left, right) => left - right)).toEqual(list.map((_, sample) => sample))
      expect(start).toEqual(repackLpt(list, binCount))
    }),
  )
})

test('two full bins and two bins that are not: three at a time reach what pairs can not', () => {
  // 12 in three bins of 4 + 4 + 4 from 5 + 5 + 2: no pair of them can be split below 5.
  const weights = [3, 2, 3, 2, 1, 1]
  expect(
    peakOf(
      improveBins(
        [
          [0, 1],
          [2, 3],
          [4, 5],
        ],
        weights,
        { ...options, isKicked: false },
      ),
      weights,
    ),
  ).toBe(4)
})

test('without effort, and at the lower bound, nothing is changed', () => {
  const start = [[0, 1], [2]]
  expect(improveBins(start, [5, 5, 1], { ...options, effort: 0 })).toEqual(start)
  expect(improveBins(start, [5, 5, 1], { ...options, lowerBound: 10 })).toEqual(start)
  expect(improveBins(start, [5, 5, 1], options)).not.toEqual(start)
})

test('bins of many samples are improved by their loose samples, the rest glued together', () => {
  const weights = Array.from({ length: 200 }, (_, sample) => 1 + (sample % 7))
  const start = [weights.map((_, sample) => sample).slice(0, 120), weights.map((_, sample) => sample).slice(120)]
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const bins = improveBins(start, weights, { ...options, effort: 400, lowerBound: Math.ceil(total / 2) })
  expect(peakOf(bins, weights)).toBe(Math.ceil(total / 2))
})

test('fractions that can not be evened out further end the search', () => {
  const start = [
    [0, 1],
    [2, 3],
  ]
  expect(improveBins(start, [1 + 1e-12, 1, 1, 1], { ...options, lowerBound: 2 })).toEqual(start)
})
