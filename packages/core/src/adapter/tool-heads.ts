import type { ToolDefinition } from '@agentrl/spec'
import { sourceOf } from '../render/json-source.ts'

/**
 * The tool lists of an adapter's sessions: equal lists are one object, so that
 * what was made of a list once is found again by it, and 512 sessions with one
 * head keep it once. The longest unused go first.
 */
export interface ToolHead {
  readonly tools: readonly ToolDefinition[]
  /** Names the list: equal for equal lists. */
  readonly head: string
}

const maxHeads = 128
/** Of all names together. A client may offer tools as long as a body may be. */
const maxNameLength = 16 * 1024 * 1024

export class ToolHeads {
  readonly #heads = new Map<string, ToolHead>()
  #nameLength = 0

  /** Linear in the text of the tools. */
  of(tools: readonly ToolDefinition[]): ToolHead {
    const sources = tools.flatMap(({ function: { parameters } }) => (parameters && sourceOf(parameters)) ?? [])
    const name = JSON.stringify(tools) + sources.join('')
    const known = this.#heads.get(name) ?? { tools, head: name }
    if (this.#heads.delete(name)) this.#nameLength -= name.length
    this.#heads.set(known.head, known)
    this.#nameLength += name.length
    for (const oldest of this.#heads.keys()) {
      if (this.#heads.size <= maxHeads && this.#nameLength <= maxNameLength) break
      this.#heads.delete(oldest)
      this.#nameLength -= oldest.length
    }
    return known
  }
}
