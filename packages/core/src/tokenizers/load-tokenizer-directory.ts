import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TrajectoryError } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import { loadTokenizer } from './load-tokenizer.ts'
import { type JsonFields, parseJsonFields } from './tokenizer-json.ts'

/**
 * What a model directory says beside the vocabulary: its chat template, the
 * ids that end a turn, and the named tokens that templates read as variables.
 *
 * The template is `chat_template.jinja` (newer models), else `chat_template` of
 * `tokenizer_config.json`, a text or a list of named ones. The stop ids are
 * `eos_token_id` of `generation_config.json` in its order, then `eos_token` of
 * `tokenizer_config.json`. All files but `tokenizer.json` may be absent.
 */

export interface LoadedTokenizer {
  readonly tokenizer: Tokenizer
  /** Null: the directory has none, so the caller must bring one. */
  readonly chatTemplate: string | null
  /** Ids that end an output, without repeats. May be empty. */
  readonly stopTokenIds: readonly number[]
  /** The tokens that `tokenizer_config.json` names, for example `{ bos_token: '<s>' }`: variables of the template. */
  readonly specialTokens: Readonly<Record<string, string>>
}

/**
 * Reads tokenizer, chat template and stop ids of a model directory.
 * `templateName` picks one of several named templates; default `default`.
 *
 * Throws `trajectory_tokenizer`: a file is broken, or there is no template of that name.
 */
export async function loadTokenizerDirectory(
  directory: string,
  options: { readonly templateName?: string } = {},
): Promise<LoadedTokenizer> {
  const { templateName = 'default' } = options
  const [tokenizer, configText, generationText, templateText] = await Promise.all([
    loadTokenizer({ directory }),
    readOptional(join(directory, 'tokenizer_config.json')),
    readOptional(join(directory, 'generation_config.json')),
    readOptional(join(directory, 'chat_template.jinja')),
  ])
  const configPath = join(directory, 'tokenizer_config.json')
  const config = configText === null ? {} : parseJsonFields(configText, configPath)
  const generation =
    generationText === null ? {} : parseJsonFields(generationText, join(directory, 'generation_config.json'))
  return {
    tokenizer,
    chatTemplate: templateText ?? pickTemplate(config.chat_template, { templateName, where: configPath }),
    stopTokenIds: readStopTokenIds(generation, config, tokenizer),
    specialTokens: readSpecialTokens(config),
  }
}

const namedTokens = ['bos', 'eos', 'unk', 'sep', 'pad', 'cls', 'mask'].map((name) => `${name}_token`)

/** Those that have a value: a template sees the others as undefined, as in Python. */
function readSpecialTokens(config: JsonFields): Readonly<Record<string, string>> {
  return Object.fromEntries(
    namedTokens.flatMap((name) => {
      const content = contentOf(config[name])
      return content === null ? [] : [[name, content]]
    }),
  )
}

/** A token is written as text, or as an object with its content. */
function contentOf(token: unknown): string | null {
  const content = typeof token === 'object' && token !== null && 'content' in token ? token.content : token
  return typeof content === 'string' ? content : null
}

async function readOptional(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new TrajectoryError('trajectory_tokenizer', `${path} exists but can't be read. Check its permissions`, {
      cause,
      details: { path },
    })
  }
}

function pickTemplate(
  raw: unknown,
  { templateName, where }: { readonly templateName: string; readonly where: string },
): string | null {
  if (raw === undefined || raw === null) return null
  if (typeof raw === 'string') return raw
  const named = (Array.isArray(raw) ? raw : []) as readonly { readonly name?: unknown; readonly template?: unknown }[]
  const template = named.find((entry) => entry.name === templateName)?.template
  if (typeof template === 'string') return template
  const names = named.map((entry) => String(entry.name)).join(', ')
  throw new TrajectoryError(
    'trajectory_tokenizer',
    `${where} has no chat template named "${templateName}". Choose with templateName one of: ${names}`,
    { details: { where, templateName } },
  )
}

function readStopTokenIds(generation: JsonFields, config: JsonFields, tokenizer: Tokenizer): readonly number[] {
  const fromGeneration = [generation.eos_token_id].flat().filter((id): id is number => Number.isSafeInteger(id))
  const eos = contentOf(config.eos_token)
  const fromConfig = eos === null ? null : tokenizer.tokenToId(eos)
  return [...new Set([...fromGeneration, ...(fromConfig === null ? [] : [fromConfig])])]
}
