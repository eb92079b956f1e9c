const charsBefore = 20
const charsAfter = 60

/** Both texts around their first difference, cut to 80 characters each. Linear in what they have in common. */
export function textDifference(held: string, found: string): { readonly held: string; readonly found: string } {
  const limit = Math.min(held.length, found.length)
  let charStart = 0
  while (charStart < limit && held.charCodeAt(charStart) === found.charCodeAt(charStart)) charStart += 1
  return { held: excerptAt(held, charStart), found: excerptAt(found, charStart) }
}

function excerptAt(text: string, charStart: number): string {
  const start = Math.max(0, charStart - charsBefore)
  const end = charStart + charsAfter
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`
}

/** Whether two texts agree at both ends over most of their length: one text with a part that changes. */
export function isMostlyEqual(left: string, right: string): boolean {
  const limit = Math.min(left.length, right.length)
  let prefix = 0
  while (prefix < limit && left.charCodeAt(prefix) === right.charCodeAt(prefix)) prefix += 1
  let suffix = 0
  while (
    suffix < limit - prefix &&
    left.charCodeAt(left.length - 1 - suffix) === right.charCodeAt(right.length - 1 - suffix)
  ) {
    suffix += 1
  }
  return prefix + suffix >= Math.max(left.length, right.length) / 2
}
