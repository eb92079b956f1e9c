import type { TokenIds } from '@agentrl/spec'

/**
 * Encodings of text segments, shared by all sessions of an adapter: the head of
 * 512 conversations is encoded once. Bounded by bytes; the least recently used
 * go first. Hits are counted.
 */
export interface SegmentCacheStats {
  readonly hits: number
  readonly misses: number
  readonly bytes: number
}

export class SegmentCache {
  readonly #entries = new Map<string, Promise<TokenIds>>()
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
      return known
    }
    this.#misses += 1
    const encoding = encode(text)
    this.#entries.set(text, encoding)
    this.#bytes += textBytes(text)
    try {
      const ids = await encoding
      this.#bytes += ids.byteLength
      this.#evict()
      return ids
    } catch (error) {
      this.#entries.delete(text)
      this.#bytes -= textBytes(text)
      throw error
    }
  }

  /** Drops the oldest until the bound holds. An entry that is still being encoded counts its text only. */
  #evict(): void {
    for (const [text, encoding] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) return
      this.#entries.delete(text)
      this.#bytes -= textBytes(text)
      void encoding.then((ids) => {
        this.#bytes -= ids.byteLength
      })
    }
  }
}

/** Two bytes a UTF-16 unit, and the entry itself. */
function textBytes(text: string): number {
  return text.length * 2 + 100
}
