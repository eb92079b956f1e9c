/** The middle value; of an even number, the upper one of the two. */
export function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[values.length >> 1] ?? 0
}
