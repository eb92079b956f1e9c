/**
 * Keeps at most `maxBytes` of a stream, however much comes: its first bytes, or
 * its last. Memory is bounded by twice the cap in the second case, because old
 * chunks are dropped whole.
 */
export interface OutputCollector {
  /** True when this chunk brought the stream over the cap. */
  push(chunk: Uint8Array): boolean
  /** Stops keeping; what comes later is only counted. */
  close(): void
  /** What was kept. */
  bytes(): Uint8Array
  /** How many bytes came and were not kept. */
  omittedBytes(): number
}

export function createOutputCollector(maxBytes: number, keep: 'head' | 'tail'): OutputCollector {
  let chunks: Uint8Array[] = []
  let keptBytes = 0
  let totalBytes = 0
  let isClosed = false

  function keepHead(chunk: Uint8Array): void {
    const room = maxBytes - keptBytes
    if (room <= 0) return
    chunks.push(chunk.subarray(0, room))
    keptBytes += Math.min(room, chunk.length)
  }

  function keepTail(chunk: Uint8Array): void {
    chunks.push(chunk)
    keptBytes += chunk.length
    let dropped = 0
    for (const oldest of chunks) {
      if (keptBytes - oldest.length < maxBytes) break
      keptBytes -= oldest.length
      dropped += 1
    }
    if (dropped > 0) chunks = chunks.slice(dropped)
  }

  function bytes(): Uint8Array {
    const all = Buffer.concat(chunks)
    return all.length > maxBytes ? all.subarray(all.length - maxBytes) : all
  }

  return {
    push(chunk) {
      if (isClosed) return false
      totalBytes += chunk.length
      if (keep === 'head') keepHead(chunk)
      else keepTail(chunk)
      return totalBytes > maxBytes
    },
    close() {
      isClosed = true
    },
    bytes,
    omittedBytes: () => totalBytes - Math.min(keptBytes, maxBytes),
  }
}
