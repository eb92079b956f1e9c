import type { TokenIds } from '@agentrl/spec'

/** One array out of several. Linear. */
export function concatenateIds(parts: readonly TokenIds[]): Int32Array {
  const total = parts.reduce((length, part) => length + part.length, 0)
  const joined = new Int32Array(total)
  let offset = 0
  for (const part of parts) {
    joined.set(part as Int32Array, offset)
    offset += part.length
  }
  return joined
}
