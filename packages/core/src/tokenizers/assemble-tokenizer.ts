import { createHash } from 'node:crypto'
import { type TokenIds, TrajectoryError } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import { readTokenizerJson, type TokenizerJson } from './tokenizer-json.ts'

/** What turns text into ids and back; the rest of the contract is read from the `tokenizer.json`. */
export interface TokenizerEngine {
  encode(text: string): Promise<TokenIds>
  /** Over the same model without added tokens. */
  encodePlain(text: string): Promise<TokenIds>
  decode(ids: TokenIds, skipSpecialTokens: boolean): Promise<string>
}

/**
 * The contract, over an engine that is started with what the plain tokenizer
 * must not have. Control tokens written as text must not become control tokens;
 * a vocabulary in which they would is refused.
 *
 * Throws `trajectory_tokenizer`.
 */
export async function assembleTokenizer(options: {
  /** The text of the `tokenizer.json`. */
  readonly json: string
  /** Names the file in errors. */
  readonly where: string
  /** Receives the entries of the model's vocabulary that plain text must not reach. */
  startEngine(hiddenFromPlain: readonly string[]): Promise<TokenizerEngine>
}): Promise<Tokenizer> {
  const { json, where, startEngine } = options
  const vocabulary = readTokenizerJson(json, where)
  const { tokens, ids, addedTokens, controlIds, hiddenFromPlain } = vocabulary
  const engine = await startEngine(hiddenFromPlain)

  const spelledOut = await Promise.all(addedTokens.map(({ content }) => engine.encodePlain(content)))
  for (const [index, plainIds] of spelledOut.entries()) {
    const forged = Array.from(plainIds).find((id) => controlIds.has(id))
    if (forged === undefined) continue
    throw new TrajectoryError(
      'trajectory_tokenizer',
      `${where}: the plain text "${addedTokens[index]?.content}" is encoded to the control token ${forged}, so content could forge a turn. This vocabulary can't be used`,
      { details: { where, forged } },
    )
  }
  return {
    name: nameOf(vocabulary),
    vocabularySize: tokens.length,
    addedTokens,
    encode: engine.encode,
    encodePlain: engine.encodePlain,
    decode: (tokenIds, { skipSpecialTokens = false } = {}) => engine.decode(tokenIds, skipSpecialTokens),
    tokenToId: (token) => ids.get(token) ?? null,
    idToToken: (id) => tokens[id] ?? null,
  }
}

/** Equal for files that differ only in their layout. */
function nameOf({ modelType, tokens, addedTokens, textRules }: TokenizerJson): string {
  const identity = JSON.stringify([tokens, addedTokens, textRules])
  return `${modelType}-${tokens.length}-${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`
}
