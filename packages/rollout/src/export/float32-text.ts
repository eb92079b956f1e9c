/**
 * The shortest decimal that reads back as the same float32. Nine significant
 * digits always do (IEEE 754, binary32); most values need fewer. Throws
 * RangeError for what JSON has no word for.
 */
export function float32Text(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`JSON has no ${value}`)
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value === 0 ? 0 : value)
  for (let digits = 1; digits < 9; digits += 1) {
    const text = value.toPrecision(digits)
    if (Math.fround(Number(text)) === value) return String(Number(text))
  }
  return String(Number(value.toPrecision(9)))
}
