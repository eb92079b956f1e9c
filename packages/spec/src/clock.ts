/** The time, as an argument, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

/** The clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() }

/** A source of numbers in [0, 1), as an argument, so that a run can be repeated. */
export type Random = () => number

/**
 * A repeatable source of numbers in [0, 1): mulberry32 on a 32-bit seed.
 * Good enough to choose scripts and orders; not for keys or secrets.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
