import { TrajectoryError } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import { assembleTokenizer } from '../tokenizers/assemble-tokenizer.ts'

/**
 * A tokenizer of `@huggingface/transformers` behind our contract, for those who
 * have that package anyway; nothing here imports it.
 *
 * Its engine is JavaScript: near-exact (its Unicode tables are those of Node, so
 * ids may change with the Node version), and it holds the event loop while it
 * works, for seconds on 1 MB without a break. The Rust tokenizer of
 * `@agentrl/core/tokenizers` does neither: prefer it.
 */

/** What we use of an `AutoTokenizer` of version 4. */
export interface TransformersTokenizer {
  /** The content of `tokenizer.json`. */
  readonly _tokenizerJSON: object
  /** The content of `tokenizer_config.json`. */
  readonly _tokenizerConfig: object
  encode(text: string, options: { readonly add_special_tokens: boolean }): number[]
  decode(
    ids: number[],
    options: { readonly skip_special_tokens: boolean; readonly clean_up_tokenization_spaces: boolean },
  ): string
}

interface TokenizerJson {
  readonly model: { readonly vocab: Readonly<Record<string, number>> }
}

/**
 * Wraps what `AutoTokenizer.from_pretrained` gives. Builds a second tokenizer
 * of the same class, without added tokens, for plain text.
 *
 * Throws `trajectory_tokenizer`: not such a tokenizer, or one in which plain
 * text can become a control token.
 */
export async function fromTransformers(autoTokenizer: TransformersTokenizer): Promise<Tokenizer> {
  const { _tokenizerJSON: root, _tokenizerConfig: config } = autoTokenizer
  if (typeof root !== 'object' || root === null || typeof autoTokenizer.encode !== 'function') {
    throw new TrajectoryError(
      'trajectory_tokenizer',
      'fromTransformers takes what AutoTokenizer.from_pretrained of @huggingface/transformers 4 gives; found an object without _tokenizerJSON or encode. For older versions use loadTokenizer of @agentrl/core/tokenizers',
    )
  }
  const encode = (tokenizer: TransformersTokenizer, text: string): Int32Array =>
    text === '' ? new Int32Array() : Int32Array.from(tokenizer.encode(text, { add_special_tokens: false }))
  return assembleTokenizer({
    json: JSON.stringify(root),
    where: 'the tokenizer.json of the AutoTokenizer',
    startEngine: async (hiddenFromPlain) => {
      const { model } = root as TokenizerJson
      const plainModel =
        hiddenFromPlain.length === 0
          ? model
          : {
              ...model,
              vocab: Object.fromEntries(
                Object.entries(model.vocab).filter(([token]) => !hiddenFromPlain.includes(token)),
              ),
            }
      const SameClass = autoTokenizer.constructor as new (json: object, config: object) => TransformersTokenizer
      const plain = new SameClass({ ...root, added_tokens: [], model: plainModel }, config)
      return {
        encode: async (text) => encode(autoTokenizer, text),
        encodePlain: async (text) => encode(plain, text),
        decode: async (ids, skipSpecialTokens) =>
          ids.length === 0
            ? ''
            : autoTokenizer.decode(Array.from(ids), {
                skip_special_tokens: skipSpecialTokens,
                clean_up_tokenization_spaces: false,
              }),
      }
    },
  })
}
