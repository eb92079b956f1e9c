/**
 * A 32-bit hash of parts, for seeds: FNV-1a over UTF-16 units, then the
 * finisher of MurmurHash3, so that neighbouring inputs give unrelated seeds.
 * Parts are kept apart: `('ab', 'c')` and `('a', 'bc')` differ.
 */
export function seededHash(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5
  for (const part of parts) {
    for (const character of `${part}\u0000`) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
