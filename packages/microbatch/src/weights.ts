import { ValueError } from '@agentrl/spec'

/** Throws `value_invalid` unless every length is a safe integer of at least `minimum`. */
export function checkLengths(lengths: readonly number[], minimum = 0): void {
  lengths.forEach((length, index) => {
    if (Number.isSafeInteger(length) && length >= minimum) return
    throw new ValueError(
      'value_invalid',
      `A length is an integer of at least ${minimum}; sample ${index} has ${length}`,
      { details: { index, length: String(length) } },
    )
  })
}

/** Throws `value_invalid` unless every weight is finite and at least 0. */
export function checkWeights(weights: readonly number[]): void {
  weights.forEach((weight, index) => {
    if (Number.isFinite(weight) && weight >= 0) return
    throw new ValueError('value_invalid', `A weight is finite and at least 0; sample ${index} has ${weight}`, {
      details: { index, weight: String(weight) },
    })
  })
}

/** Throws `value_invalid` unless a count is a safe integer of at least 1. */
export function checkCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return
  throw new ValueError('value_invalid', `${name} is an integer of at least 1, found ${value}`, {
    details: { name, value: String(value) },
  })
}

/** The load of a bin: the sum of the weights of its samples. */
export function loadOf(bin: readonly number[], weights: readonly number[]): number {
  let load = 0
  for (const index of bin) load += weights[index] as number
  return load
}

/** The load of the fullest bin; 0 without bins. */
export function peakOf(bins: readonly (readonly number[])[], weights: readonly number[]): number {
  return bins.reduce((peak, bin) => Math.max(peak, loadOf(bin, weights)), 0)
}
