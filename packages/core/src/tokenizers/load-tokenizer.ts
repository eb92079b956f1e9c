import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TrajectoryError } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import { assembleTokenizer } from './assemble-tokenizer.ts'
import { startTokenizerWorker } from './tokenizer-worker.ts'

/**
 * The tokenizer of a model: the Hugging Face Rust crate, which Python's
 * `tokenizers` wraps, over the model's `tokenizer.json`. Ids equal those of
 * Python's `encode(text, add_special_tokens=False)`; truncation and padding
 * that the file may ask for are off. Ids that no token has are decoded to
 * nothing, as in Python.
 *
 * All work is done in a thread: a call on 1 MB of text holds the event loop for
 * the time of copying a string. Calls are not queued here: bound them outside.
 */

/**
 * The tokenizer in the `tokenizer.json` of a directory. Takes seconds and
 * hundreds of MB for a vocabulary of 151,669.
 *
 * Throws `trajectory_tokenizer`: no such file, not a tokenizer, the optional
 * package `tokenizers` is not installed.
 */
export async function loadTokenizer(options: { readonly directory: string }): Promise<Tokenizer> {
  const path = join(options.directory, 'tokenizer.json')
  let json: string
  try {
    json = await readFile(path, 'utf8')
  } catch (cause) {
    throw new TrajectoryError(
      'trajectory_tokenizer',
      `${path} can't be read. Name the directory that holds the tokenizer.json of the model`,
      { cause, details: { path } },
    )
  }
  return fromTokenizerJson(json, { where: path })
}

/** The tokenizer of the text of a `tokenizer.json`. `where` names it in errors. Throws `trajectory_tokenizer`. */
export async function fromTokenizerJson(json: string, options: { readonly where?: string } = {}): Promise<Tokenizer> {
  const where = options.where ?? 'tokenizer.json'
  return assembleTokenizer({
    json,
    where,
    startEngine: (hiddenFromPlain) => startTokenizerWorker({ json, hiddenFromPlain, where }),
  })
}
