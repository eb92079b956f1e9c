import { InvalidArgumentError } from 'commander'

/** A whole number of at least `minimum`. */
export function integerOption(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= minimum && text.trim() !== '') return value
    throw new InvalidArgumentError(`expected a whole number of at least ${minimum}`)
  }
}

/** A number of [minimum, maximum]. */
export function numberOption(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (value >= minimum && value <= maximum && text.trim() !== '') return value
    throw new InvalidArgumentError(`expected a number from ${minimum} to ${maximum}`)
  }
}

/** A duration in seconds, as milliseconds. */
export function secondsOption(text: string): number {
  return numberOption(1, 86_400)(text) * 1000
}

/** A JSON object. */
export function jsonObjectOption(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Said below, together with what is JSON but no object.
  }
  throw new InvalidArgumentError('expected a JSON object')
}
