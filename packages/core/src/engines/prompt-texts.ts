import type { TokenIds } from '@agentrl/spec'

/**
 * Prompts as the JSON text that engines read, `17,4,2`, without writing their
 * history again each turn: a prompt that begins with an earlier one of its
 * session is that text and what is new. A session has a few conversations at a
 * time (sub-agents), so a few prompts are kept for each. Bounded by characters;
 * the sessions that were not heard of for longest go first.
 */
export interface PromptTextsOptions {
  /** Characters kept in all. Default 64 Mi: about 10 million ids. */
  readonly maxCharacters?: number
}

interface KeptPrompt {
  readonly ids: Int32Array
  readonly text: string
}

const promptsOfSession = 4

export class PromptTexts {
  /** The prompts of a session, the latest first. */
  readonly #kept = new Map<string, readonly KeptPrompt[]>()
  readonly #maxCharacters: number
  #characters = 0

  constructor({ maxCharacters = 64 * 1024 * 1024 }: PromptTextsOptions = {}) {
    this.#maxCharacters = maxCharacters
  }

  /** The ids, separated by commas. `session` names those whose prompts this one may continue; undefined: none. */
  textOf(session: string | undefined, promptIds: TokenIds): string {
    const ids = promptIds as Int32Array
    if (session === undefined) return ids.join(',')
    const kept = this.#kept.get(session) ?? []
    const start = kept.find((prompt) => beginsWith(ids, prompt.ids))
    const text = start === undefined ? ids.join(',') : extend(start, ids)
    const others = kept.filter((prompt) => prompt !== start)
    this.#keep(session, [{ ids, text }, ...others].slice(0, promptsOfSession))
    return text
  }

  #keep(session: string, prompts: readonly KeptPrompt[]): void {
    this.#characters += charactersOf(prompts) - charactersOf(this.#kept.get(session) ?? [])
    this.#kept.delete(session)
    this.#kept.set(session, prompts)
    for (const [oldest, forgotten] of this.#kept) {
      if (this.#characters <= this.#maxCharacters) return
      this.#kept.delete(oldest)
      this.#characters -= charactersOf(forgotten)
    }
  }
}

function charactersOf(prompts: readonly KeptPrompt[]): number {
  return prompts.reduce((total, { text }) => total + text.length, 0)
}

function extend({ ids: known, text }: KeptPrompt, ids: Int32Array): string {
  return ids.length === known.length ? text : `${text},${ids.subarray(known.length).join(',')}`
}

/** Compared as bytes: 40,000 ids in a few microseconds. */
function beginsWith(ids: Int32Array, start: Int32Array): boolean {
  if (start.length === 0 || start.length > ids.length) return false
  const bytesOf = (part: Int32Array): Uint8Array => new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
  return Buffer.compare(bytesOf(ids.subarray(0, start.length)), bytesOf(start)) === 0
}
