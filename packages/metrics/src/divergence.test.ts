import fc from 'fast-check'
import { expect, test } from 'vitest'
import { divergence } from './divergence.ts'

test('two tokens, worked by hand', () => {
  // d = 0 and −1/2: k1 = −1/4, k2 = (1/8) / 2, k3 = (e^½ − 3/2) / 2, entropy 3/2.
  const met = divergence({ rolloutLogprobs: [-1, -2], trainerLogprobs: [-1, -1.5] })
  expect(met).toEqual({
    tokenCount: 2,
    k1: -0.25,
    k2: 0.0625,
    k3: expect.closeTo((Math.exp(0.5) - 1.5) / 2, 15),
    entropy: 1.5,
    gap: { mean: 0.25, p50: 0.25, p90: expect.closeTo(0.45, 15), p99: expect.closeTo(0.495, 15), max: 0.5 },
  })
})

test('equal streams differ by nothing', () => {
  const stream = Float32Array.from([-0.5, -3, -1e-7])
  expect(divergence({ rolloutLogprobs: stream, trainerLogprobs: stream })).toMatchObject({
    k1: 0,
    k2: 0,
    k3: 0,
    gap: { mean: 0, max: 0 },
  })
})

test('masked tokens count for nothing, not even when they are not finite', () => {
  const met = divergence({
    rolloutLogprobs: [-1, Number.NEGATIVE_INFINITY, 0],
    trainerLogprobs: [-2, 0, Number.NaN],
    mask: Uint8Array.from([1, 0, 0]),
  })
  expect(met).toMatchObject({ tokenCount: 1, k1: 1, entropy: 1 })
  expect(divergence({ rolloutLogprobs: [-1], trainerLogprobs: [-1], mask: [0] })).toBeNull()
  expect(divergence({ rolloutLogprobs: [], trainerLogprobs: [] })).toBeNull()
})

test('k2 and k3 are never negative, and k3 is at most what its series allows near 0', () => {
  const logprob = fc.double({ min: -20, max: 0, noNaN: true })
  fc.assert(
    fc.property(fc.array(fc.tuple(logprob, logprob), { minLength: 1, maxLength: 20 }), (pairs) => {
      const met = divergence({
        rolloutLogprobs: pairs.map(([rollout]) => rollout),
        trainerLogprobs: pairs.map(([, trainer]) => trainer),
      })
      expect(met?.k2).toBeGreaterThanOrEqual(0)
      expect(met?.k3).toBeGreaterThanOrEqual(0)
    }),
  )
})

test('the series and the formula of k3 meet', () => {
  const at = (difference: number): number =>
    divergence({ rolloutLogprobs: [difference - 5], trainerLogprobs: [-5] })?.k3 ?? Number.NaN
  expect(at(0.5)).toBeCloseTo(Math.expm1(-0.5) + 0.5, 14)
  expect(at(0.500001)).toBeCloseTo(Math.expm1(-0.500001) + 0.500001, 14)
  expect(at(1e-9)).toBeCloseTo(0.5e-18, 24)
  expect(at(30)).toBeCloseTo(29 + Math.exp(-30), 12)
})

test('streams of different lengths and counted numbers that are not finite are refused', () => {
  const invalid = expect.objectContaining({ code: 'value_invalid' })
  expect(() => divergence({ rolloutLogprobs: [-1], trainerLogprobs: [] })).toThrow(invalid)
  expect(() => divergence({ rolloutLogprobs: [-1], trainerLogprobs: [-1], mask: [] })).toThrow(invalid)
  expect(() => divergence({ rolloutLogprobs: [-1, Number.NEGATIVE_INFINITY], trainerLogprobs: [-1, 0] })).toThrow(
    expect.objectContaining({ code: 'value_invalid', details: { token: 1 } }),
  )
})
