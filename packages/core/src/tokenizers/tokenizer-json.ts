import { excerpt, TrajectoryError } from '@agentrl/spec'
import type { AddedToken } from '../render/tokenizer.ts'

/**
 * What a `tokenizer.json` of Hugging Face says, as far as it is needed beside
 * the Rust tokenizer: the two-way vocabulary, the added tokens, and what has to
 * be taken out of the file so that no text yields an added token.
 *
 * Taking out `added_tokens` alone is not enough. Some vocabularies (Mistral,
 * Gemma) list their control tokens in the model's own vocabulary too, and a
 * model with `ignore_merges` takes a whole word from there. So an added token
 * leaves the vocabulary as well, unless a merge makes or uses it (then it is
 * ordinary text that the model was trained to write) or the model needs it as
 * its unknown token.
 */

export interface TokenizerJson {
  /** Spelling of each id; holes where no token has the id. */
  readonly tokens: readonly (string | undefined)[]
  readonly ids: ReadonlyMap<string, number>
  readonly addedTokens: readonly AddedToken[]
  /** Entries of the model's vocabulary that the tokenizer for plain text must not have. */
  readonly hiddenFromPlain: readonly string[]
  /** The added tokens that plain text must never yield: all but the unknown token and ordinary words made by merges. */
  readonly controlIds: ReadonlySet<number>
  /** For example `BPE`. */
  readonly modelType: string
  /** How text is changed and cut before the model sees it, as JSON: part of the vocabulary's identity. */
  readonly textRules: string
}

/** A JSON object from outside, its values unchecked. */
export type JsonFields = Readonly<Record<string, unknown>>

function isFields(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fail(where: string, found: string): never {
  throw new TrajectoryError(
    'trajectory_tokenizer',
    `${where} is not a tokenizer.json: ${found}. Use the tokenizer.json that the model is published with`,
    { details: { where } },
  )
}

/** Parses JSON text from outside. Throws `trajectory_tokenizer` naming the place. */
export function parseJsonFields(text: string, where: string): JsonFields {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new TrajectoryError(
      'trajectory_tokenizer',
      `${where} is not JSON: ${excerpt(String(cause))}. A pointer file of Git LFS looks like this: fetch the file itself`,
      { cause, details: { where } },
    )
  }
  return isFields(value) ? value : fail(where, 'the top level is not an object')
}

/** Reads a `tokenizer.json`. `where` names it in errors. Throws `trajectory_tokenizer`. Linear. */
export function readTokenizerJson(text: string, where: string): TokenizerJson {
  const root = parseJsonFields(text, where)
  const model = isFields(root.model) ? root.model : fail(where, 'it has no "model"')
  const vocabulary = readVocabulary(model.vocab, where)
  const rawAdded = Array.isArray(root.added_tokens) ? (root.added_tokens as readonly unknown[]) : []
  const splitsHard = splitRules(root)
  const addedTokens = rawAdded.map((raw, index) => readAddedToken(raw, `${where}, added_tokens[${index}]`, splitsHard))

  const ids = new Map(vocabulary)
  for (const token of addedTokens) ids.set(token.content, token.id)
  const tokens: (string | undefined)[] = []
  for (const [token, id] of ids) tokens[id] = token

  const unknownToken = readUnknownToken(model)
  const listedTwice = new Set(addedTokens.map((token) => token.content).filter((content) => vocabulary.has(content)))
  const merged = mergedTokens(model, listedTwice)
  const isOrdinary = ({ content, isSpecial }: AddedToken): boolean =>
    content === unknownToken || (!isSpecial && merged.has(content))
  return {
    tokens,
    ids,
    addedTokens,
    hiddenFromPlain: Array.isArray(model.vocab)
      ? []
      : [...listedTwice].filter((content) => content !== unknownToken && !merged.has(content)),
    controlIds: new Set(addedTokens.filter((token) => !isOrdinary(token)).map((token) => token.id)),
    modelType: typeof model.type === 'string' ? model.type : 'BPE',
    textRules: JSON.stringify([root.normalizer ?? null, root.pre_tokenizer ?? null]),
  }
}

/** BPE, WordPiece and WordLevel map a token to its id; Unigram lists `[token, score]` by id. */
function readVocabulary(vocab: unknown, where: string): ReadonlyMap<string, number> {
  if (Array.isArray(vocab)) {
    return new Map(
      (vocab as readonly unknown[]).map((entry, id) =>
        Array.isArray(entry) && typeof entry[0] === 'string' ? [entry[0], id] : fail(where, `model.vocab[${id}]`),
      ),
    )
  }
  if (!isFields(vocab)) return fail(where, 'it has no "model.vocab"')
  return new Map(
    Object.entries(vocab).map(([token, id]) =>
      Number.isSafeInteger(id) ? [token, id as number] : fail(where, `the id of "${excerpt(token)}" is no integer`),
    ),
  )
}

function readUnknownToken(model: JsonFields): string | null {
  if (typeof model.unk_token === 'string') return model.unk_token
  if (Array.isArray(model.vocab) && typeof model.unk_id === 'number') {
    const entry: unknown = model.vocab[model.unk_id]
    return Array.isArray(entry) && typeof entry[0] === 'string' ? entry[0] : null
  }
  return null
}

/** Those of the tokens that merges use or make. A merge is `"a b"` in older files, `["a", "b"]` in newer ones. */
function mergedTokens(model: JsonFields, among: ReadonlySet<string>): ReadonlySet<string> {
  const merged = new Set<string>()
  if (among.size === 0 || !Array.isArray(model.merges)) return merged
  for (const merge of model.merges as readonly unknown[]) {
    const [left, right] = typeof merge === 'string' ? merge.split(' ') : Array.isArray(merge) ? merge : []
    for (const token of [left, right, `${left}${right}`]) if (among.has(token)) merged.add(token)
  }
  return merged
}

interface SplitRules {
  /** Text is changed before the model sees it, so a token that is matched after that is no hard split. */
  readonly normalizes: boolean
  /** The first piece of a text is treated unlike the others, so that no piece stands alone. */
  readonly treatsFirstPieceApart: boolean
}

function splitRules(root: JsonFields): SplitRules {
  const normalizer = JSON.stringify(root.normalizer ?? null)
  return {
    normalizes: normalizer !== 'null' && normalizer !== '{"type":"Sequence","normalizers":[]}',
    treatsFirstPieceApart: JSON.stringify(root.pre_tokenizer ?? null).includes('"prepend_scheme":"first"'),
  }
}

function readAddedToken(raw: unknown, where: string, rules: SplitRules): AddedToken {
  if (!isFields(raw) || typeof raw.content !== 'string' || !Number.isSafeInteger(raw.id)) {
    return fail(where, 'an added token has a "content" and an integer "id"')
  }
  return {
    id: raw.id as number,
    content: raw.content,
    isSpecial: raw.special === true,
    isHardSplit:
      raw.lstrip !== true &&
      raw.rstrip !== true &&
      raw.single_word !== true &&
      !(raw.normalized === true && rules.normalizes) &&
      !rules.treatsFirstPieceApart,
  }
}
