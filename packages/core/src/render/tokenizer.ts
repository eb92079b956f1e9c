import type { TokenIds } from '@agentrl/spec'

/**
 * The contract of a tokenizer. Ids are the vocabulary's own; nothing adds a
 * beginning-of-sequence token or cleans up spaces.
 */

/** A token that stands beside the vocabulary, as `tokenizer.json` lists it. */
export interface AddedToken {
  readonly id: number
  readonly content: string
  /** Left out by `decode(…, { skipSpecialTokens: true })`. */
  readonly isSpecial: boolean
  /**
   * Whether text before and after it is encoded as if it stood alone: no lstrip, rstrip, single_word.
   * Such a token is a hard split point, so that encodings can be cached by segment.
   */
  readonly isHardSplit: boolean
}

export interface DecodeOptions {
  /** Default false: special tokens are written out. */
  readonly skipSpecialTokens?: boolean
}

export interface Tokenizer {
  /** For messages and cache keys: names the vocabulary, not the file. */
  readonly name: string
  /** One more than the largest id. */
  readonly vocabularySize: number
  readonly addedTokens: readonly AddedToken[]
  /** Ids of a text in which added tokens are recognised, as Python's `encode(text, add_special_tokens=False)`. Linear. */
  encode(text: string): Promise<TokenIds>
  /** Ids of a text in which no added token is recognised: content can't forge one. Linear. */
  encodePlain(text: string): Promise<TokenIds>
  /** Text of ids; bytes that are no UTF-8 become U+FFFD. */
  decode(ids: TokenIds, options?: DecodeOptions): Promise<string>
  /** The id of a token as the vocabulary spells it; null if there is none. */
  tokenToId(token: string): number | null
  /** The vocabulary's spelling of an id; null if there is none. */
  idToToken(id: number): string | null
}
