import { ValueError } from '@agentrl/spec'

/** Throws `value_invalid` unless every length is a safe integer of at least `minimum`. */
export function checkLengths(lengths: ArrayLike<number>, minimum = 0): void {
  for (let index = 0; index < lengths.length; index += 1) {
    const length = lengths[index] as number
    if (Number.isSafeInteger(length) && length >= minimum) continue
    throw new ValueError(
      'value_invalid',
      `A length is an integer of at least ${minimum}; sample ${index} has ${length}`,
      {
        details: { index, length },
      },
    )
  }
}

/** Throws `value_invalid` unless a count is a safe integer of at least 1. */
export function checkCount(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return
  throw new ValueError('value_invalid', `${name} is an integer of at least 1, found ${value}`, {
    details: { name, value },
  })
}

/** The load of a bin: the sum of the lengths of its samples. */
export function loadOf(bin: readonly number[], lengths: ArrayLike<number>): number {
  let load = 0
  for (const index of bin) load += lengths[index] as number
  return load
}

/** The load of the fullest bin; 0 without bins. */
export function peakOf(bins: readonly (readonly number[])[], lengths: ArrayLike<number>): number {
  return bins.reduce((peak, bin) => Math.max(peak, loadOf(bin, lengths)), 0)
}
