import { once } from 'node:events'
import type { PassThrough, Writable } from 'node:stream'

/**
 * Writes to a stream that somebody may read, or has stopped reading: waits for a
 * reader who is slow, and for nobody when there is none yet or none any more.
 */
export async function writePart(stream: PassThrough, part: Uint8Array): Promise<void> {
  if (stream.destroyed || part.length === 0 || stream.write(part)) return
  if (stream.listenerCount('readable') > 0) await drained(stream)
}

/** Resolves when a stream takes more, or nothing any more. */
export async function drained(stream: Writable): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  await Promise.race(['drain', 'close'].map((event) => once(stream, event, { signal }).catch(() => {})))
  settled.abort()
}
