import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packFirstFit } from './pack-first-fit.ts'

/** The scan over all bins that first fit is defined by. */
function firstFitByScan(lengths: readonly number[], maxTokens: number): number[][] {
  const bins: { samples: number[]; load: number }[] = []
  lengths.forEach((length, sample) => {
    const open = bins.find(({ load }) => load + length <= maxTokens)
    if (open === undefined) bins.push({ samples: [sample], load: length })
    else {
      open.samples.push(sample)
      open.load += length
    }
  })
  return bins.map(({ samples }) => samples)
}

test('the tree finds the bins that a scan finds', () => {
  const lengths = fc.array(fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 100 })), {
    maxLength: 120,
  })
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 60 }), (samples, cap) => {
      expect(packFirstFit(samples, cap)).toEqual(firstFitByScan(samples, cap))
    }),
  )
})

test('a sample over the cap stands alone, even beside empty ones', () => {
  expect(packFirstFit([11, 0, 5, 11, 5], 10)).toEqual([[0], [1, 2, 4], [3]])
  expect(packFirstFit([], 10)).toEqual([])
})

test.each([
  [[1.5], 10],
  [[-1], 10],
  [[Number.NaN], 10],
  [[1], 0],
  [[1], 1.5],
])('%j under a cap of %d is refused', (lengths, cap) => {
  expect(() => packFirstFit(lengths, cap)).toThrow(expect.objectContaining({ code: 'value_invalid' }))
})
