import type { Readable } from 'node:stream'
import { excerpt } from '@agentrl/spec'

/**
 * How a command that starts far away tells its process id: a shell enters the
 * working folder, writes one line to stderr, `agentrl-started <token> <id>` or
 * `agentrl-refused <token>`, and becomes the command. The line is taken off the
 * stream before anybody sees it.
 */
export function announcedArgv(token: string, cwd: string, argv: readonly string[]): readonly string[] {
  const script = `cd -- "$1" 2>/dev/null || { echo "agentrl-refused $2" >&2; exit 126; }
echo "agentrl-started $2 $$" >&2
shift 2
exec "$@"`
  return ['/bin/sh', '-c', script, 'sh', cwd, token, ...argv]
}

export type Announcement =
  | { readonly kind: 'started'; readonly processId: number; readonly rest: AsyncIterable<Uint8Array> }
  | { readonly kind: 'refused' }
  /** The command did not come that far; what was written instead. */
  | { readonly kind: 'missing'; readonly written: string }

/** A line longer than this is no announcement. */
const maxLineBytes = 4_096

/** Reads the announcement off a stream; `rest` is everything after it. */
export async function readAnnouncement(stream: Readable, token: string): Promise<Announcement> {
  const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  let lineEnd = -1
  while (lineEnd === -1 && head.length < maxLineBytes) {
    const next = await chunks.next()
    if (next.done === true) break
    head = Buffer.concat([head, next.value])
    lineEnd = head.indexOf('\n')
  }
  const line = head.subarray(0, lineEnd === -1 ? head.length : lineEnd).toString('utf8')
  const [word, said, processId] = line.split(' ')
  if (word === 'agentrl-refused' && said === token) return { kind: 'refused' }
  if (word !== 'agentrl-started' || said !== token) return { kind: 'missing', written: excerpt(line) }
  return { kind: 'started', processId: Number(processId), rest: remaining(head.subarray(lineEnd + 1), chunks) }
}

async function* remaining(head: Uint8Array, chunks: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head
  for (;;) {
    const next = await chunks.next()
    if (next.done === true) return
    yield next.value
  }
}
