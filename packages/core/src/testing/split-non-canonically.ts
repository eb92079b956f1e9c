import type { Random, TokenIds } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'

/**
 * Other ids for the same bytes.
 *
 * A model samples ids, not text: it may write " the" as the two tokens " t" and
 * "he", which no encoder would choose. Whoever encodes the text again gets other
 * ids than were sampled, and trains on what was never sampled. This makes such
 * an output from an ordinary one: one token becomes two whose spellings join to
 * the same spelling.
 *
 *     canonical   … [ Ġthe ] …          decode: " the"
 *     split       … [ Ġt ][ he ] …      decode: " the", encode(decode) ≠ ids
 *
 * Added tokens are left alone: they have no parts. Holds for vocabularies that
 * spell a token by its bytes or characters, as byte-level and SentencePiece BPE
 * do.
 */

export interface NonCanonicalSplit {
  /** One longer than the ids that went in. */
  readonly ids: Int32Array
  /** Index of the first half. */
  readonly tokenStart: number
  /** From how many places and ways it was drawn, evenly over places and then over ways: for its probability. */
  readonly probability: number
}

/**
 * Splits one token of `ids`, drawn evenly from those that can be split, into
 * two, drawn evenly from its ways to be split. Null: no token can be.
 *
 * `ids` must be what the tokenizer gives for their text, or the result may be
 * the canonical one. Linear in ids, quadratic in the length of a token.
 */
export function splitNonCanonically(
  ids: TokenIds,
  options: { readonly tokenizer: Tokenizer; readonly random: Random },
): NonCanonicalSplit | null {
  const { tokenizer, random } = options
  const addedIds = new Set(tokenizer.addedTokens.map((token) => token.id))
  const known = new Map<number, readonly (readonly [number, number])[]>()
  const waysOf = (id: number): readonly (readonly [number, number])[] => {
    const ways = known.get(id) ?? waysToSplit(id, { tokenizer, addedIds })
    known.set(id, ways)
    return ways
  }
  const places = Array.from(ids.keys()).filter((index) => waysOf(ids[index] ?? -1).length > 0)
  const tokenStart = places[Math.floor(random() * places.length)]
  if (tokenStart === undefined) return null
  const ways = waysOf(ids[tokenStart] ?? -1)
  const halves = ways[Math.floor(random() * ways.length)] ?? []
  return {
    ids: Int32Array.of(...ids.slice(0, tokenStart), ...halves, ...ids.slice(tokenStart + 1)),
    tokenStart,
    probability: 1 / (places.length * ways.length),
  }
}

function waysToSplit(
  id: number,
  { tokenizer, addedIds }: { readonly tokenizer: Tokenizer; readonly addedIds: ReadonlySet<number> },
): readonly (readonly [number, number])[] {
  const spelling = addedIds.has(id) ? null : tokenizer.idToToken(id)
  if (spelling === null) return []
  const characters = Array.from(spelling)
  return characters.slice(1).flatMap((_, index) => {
    const left = tokenizer.tokenToId(characters.slice(0, index + 1).join(''))
    const right = tokenizer.tokenToId(characters.slice(index + 1).join(''))
    if (left === null || right === null || addedIds.has(left) || addedIds.has(right)) return []
    return [[left, right] as const]
  })
}
