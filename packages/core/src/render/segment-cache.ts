import type { TokenIds } from '@agentrl/spec'

/**
 * Encodings of text segments, shared by all sessions of an adapter: the head of
 * 512 conversations is encoded once. Bounded by bytes; the least recently used
 * go first. Hits are counted.
 */
export interface SegmentCacheStats {
  readonly hits: number
  readonly misses: number
  /** Of texts and ids together; at most the bound, beside what is being encoded. */
  readonly bytes: number
}

interface Entry {
  readonly ids: Promise<TokenIds>
  bytes: number
}

export class SegmentCache {
  readonly #entries = new Map<string, Entry>()
  readonly #maxBytes: number
  #bytes = 0
  #hits = 0
  #misses = 0

  /** `maxBytes` covers texts and ids together. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get stats(): SegmentCacheStats {
    return { hits: this.#hits, misses: this.#misses, bytes: this.#bytes }
  }

  /** The ids of a text. Two callers that ask at once share one encoding; a failed one is forgotten. */
  async get(text: string, encode: (text: string) => Promise<TokenIds>): Promise<TokenIds> {
    const known = this.#entries.get(text)
    if (known !== undefined) {
      this.#hits += 1
      this.#entries.delete(text)
      this.#entries.set(text, known)
      return known.ids
    }
    this.#misses += 1
    const entry: Entry = { ids: encode(text), bytes: textBytes(text) }
    const key = ownCopy(text)
    this.#entries.set(key, entry)
    this.#bytes += entry.bytes
    try {
      const ids = await entry.ids
      if (this.#entries.get(key) === entry) this.#grow(entry, ids.byteLength)
      return ids
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#forget(key, entry)
      throw error
    }
  }

  #grow(entry: Entry, bytes: number): void {
    entry.bytes += bytes
    this.#bytes += bytes
    for (const [text, oldest] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) return
      this.#forget(text, oldest)
    }
  }

  #forget(text: string, entry: Entry): void {
    this.#entries.delete(text)
    this.#bytes -= entry.bytes
  }
}

/** Two bytes a UTF-16 unit, and the entry itself. */
function textBytes(text: string): number {
  return text.length * 2 + 100
}

/** A part of a text holds the whole of it in memory: what is kept is copied out. */
function ownCopy(text: string): string {
  return ` ${text}`.slice(1)
}
