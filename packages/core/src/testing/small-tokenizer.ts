import type { TokenIds } from '@agentrl/spec'
import type { AddedToken, Tokenizer } from '../render/tokenizer.ts'

/**
 * A byte-level BPE tokenizer small enough to read, for tests that need the
 * contract and not a model: 256 bytes, the merges of a few words, and the added
 * tokens of Qwen3 in their order. No dependency, no file, exact on any text
 * that is valid Unicode.
 *
 *     ids 0..255                 the bytes, in the order of GPT-2's alphabet
 *     ids 256..                  merges, in rank order
 *     the last 26 ids            added tokens
 *
 * It normalises nothing, and cuts text into runs of letters (with the character
 * before them), of digits, of white space, and of the rest.
 */

/** Each becomes one token: what earlier merges made of it is merged from the left. */
const mergedWords = [
  ...[' the', 'in', 'er', 'on', 'an', 're', 'at', 'en', ' to', ' of', 'ing', ' and', ' is', 'assistant', 'user'],
  ...['system', 'name', 'arguments', 'command', 'description', 'bash', 'Bash', 'file', 'path', 'content', 'tool'],
  ...[' function', ' return', ' echo', ' cat', ' test', '":', '",', ' "', '{"', '"}}', '  ', '    '],
]

/** The added tokens of Qwen3: the first 14 are special. */
const addedContents = [
  ...['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|object_ref_start|>', '<|object_ref_end|>', '<|box_start|>'],
  ...['<|box_end|>', '<|quad_start|>', '<|quad_end|>', '<|vision_start|>', '<|vision_end|>', '<|vision_pad|>'],
  ...['<|image_pad|>', '<|video_pad|>', '<tool_call>', '</tool_call>', '<|fim_prefix|>', '<|fim_middle|>'],
  ...['<|fim_suffix|>', '<|fim_pad|>', '<|repo_name|>', '<|file_sep|>', '<tool_response>', '</tool_response>'],
  ...['<think>', '</think>'],
]
const specialCount = 14

const word = /[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+/gu

/**
 * The letter that spells each byte, as GPT-2 chose them: printable bytes of
 * Latin-1 spell themselves, the others get the letters from U+0100 on.
 */
function byteLetters(): readonly string[] {
  const isPrintable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) => {
    if (isPrintable(byte)) return String.fromCodePoint(byte)
    next += 1
    return String.fromCodePoint(next - 1)
  })
}

export interface SmallTokenizerOptions {
  /** Instead of Qwen3's: the tokens that a chat template writes. All are special. */
  readonly addedTokens?: readonly string[]
}

/** Matches any of the texts, the longest first, and keeps them when a text is split at it. */
function patternOf(contents: readonly string[]): RegExp {
  const longestFirst = [...contents].sort((left, right) => right.length - left.length)
  if (contents.length === 0) return /(?!)/
  return new RegExp(`(${longestFirst.map((content) => content.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`)
}

/** Builds the tokenizer. Encoding is quadratic in the longest word, so: for tests. */
export function smallTokenizer(options: SmallTokenizerOptions = {}): Tokenizer {
  const contents = options.addedTokens ?? addedContents
  const specials = options.addedTokens === undefined ? specialCount : contents.length
  const letters = byteLetters()
  const bytes = new Map(letters.map((letter, byte) => [letter, byte]))
  const encoder = new TextEncoder()
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const spell = (text: string): string[] => Array.from(encoder.encode(text), (byte) => letters[byte] ?? '')

  const ids = new Map<string, number>()
  const add = (token: string): number => {
    const id = ids.get(token) ?? ids.size
    ids.set(token, id)
    return id
  }
  for (const letter of letters) add(letter)
  const ranks = new Map<string, number>()
  const mergeWord = (text: string): readonly string[] => {
    const parts = spell(text)
    for (;;) {
      let best = -1
      let bestRank = Number.POSITIVE_INFINITY
      for (let index = 0; index + 1 < parts.length; index += 1) {
        const rank = ranks.get(`${parts[index]} ${parts[index + 1]}`) ?? Number.POSITIVE_INFINITY
        if (rank < bestRank) {
          best = index
          bestRank = rank
        }
      }
      if (best < 0) return parts
      parts.splice(best, 2, `${parts[best]}${parts[best + 1]}`)
    }
  }
  for (const mergedWord of mergedWords) {
    mergeWord(mergedWord).reduce((left, right) => {
      ranks.set(`${left} ${right}`, ranks.size)
      add(left + right)
      return left + right
    })
  }
  const addedTokens: AddedToken[] = contents.map((content, index) => ({
    id: add(content),
    content,
    isSpecial: index < specials,
    isHardSplit: true,
  }))
  const addedIds = new Map(addedTokens.map((token) => [token.id, token]))
  const tokens = [...ids.keys()]
  const addedPattern = patternOf(contents)

  const encodePlain = (text: string): number[] =>
    (text.match(word) ?? []).flatMap(mergeWord).map((part) => ids.get(part) ?? 0)
  const decode = (tokenIds: TokenIds, skipSpecialTokens: boolean): string => {
    const output: number[] = []
    for (const id of tokenIds) {
      const addedToken = addedIds.get(id)
      if (addedToken === undefined) for (const letter of tokens[id] ?? '') output.push(bytes.get(letter) ?? 0)
      else if (!addedToken.isSpecial || !skipSpecialTokens) output.push(...encoder.encode(addedToken.content))
    }
    return decoder.decode(Uint8Array.from(output))
  }

  return {
    name: `small-${tokens.length}`,
    vocabularySize: tokens.length,
    addedTokens,
    // `split` with a capture group puts the added tokens at the odd places.
    encode: async (text) =>
      Int32Array.from(
        text
          .split(addedPattern)
          .flatMap((piece, index) => (index % 2 === 1 ? [ids.get(piece) ?? 0] : encodePlain(piece))),
      ),
    encodePlain: async (text) => Int32Array.from(encodePlain(text)),
    decode: async (tokenIds, { skipSpecialTokens = false } = {}) => decode(tokenIds, skipSpecialTokens),
    tokenToId: (token) => ids.get(token) ?? null,
    idToToken: (id) => tokens[id] ?? null,
  }
}
