import { ValueError } from '@agentrl/spec'

/** An interval that holds the true value in the stated share of repetitions. */
export interface Interval {
  readonly low: number
  readonly high: number
  /** In (0, 1), for example 0.95. */
  readonly confidence: number
}

/** Throws `value_invalid` unless a confidence is in (0, 1). */
export function checkConfidence(confidence: number): void {
  if (confidence > 0 && confidence < 1) return
  throw new ValueError('value_invalid', `A confidence is in (0, 1), found ${confidence}`)
}

/** Throws `value_invalid` unless all values are finite and there are at least `minimum`. */
export function checkValues(name: string, values: readonly number[], minimum: number): void {
  if (values.length < minimum) {
    throw new ValueError('value_invalid', `${name} has ${values.length} values, expected at least ${minimum}`)
  }
  const broken = values.findIndex((value) => !Number.isFinite(value))
  if (broken < 0) return
  throw new ValueError('value_invalid', `${name} holds finite numbers; entry ${broken} is ${values[broken]}`)
}

/** Throws `value_invalid` unless `count` of `total` is a proportion of integers, total at least 1. */
export function checkProportion(name: string, count: number, total: number): void {
  if (Number.isSafeInteger(count) && Number.isSafeInteger(total) && total >= 1 && count >= 0 && count <= total) return
  throw new ValueError('value_invalid', `${name} is a count of 0 to a total of at least 1, found ${count} of ${total}`)
}
