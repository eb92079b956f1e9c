import { createInterface } from 'node:readline'

/**
 * Reads the JSON lines that the daemon writes while it builds or fetches an
 * image. It reports a failure as a line with `error` under status 200, which
 * docker-modem's own reader takes for a success: this one throws it.
 */
export async function readProgress(
  stream: NodeJS.ReadableStream,
  onText: (text: string) => void = () => {},
): Promise<void> {
  for await (const line of createInterface({ input: stream })) {
    if (line === '') continue
    const event = JSON.parse(line) as { stream?: unknown; error?: unknown }
    if (event.error !== undefined) throw new Error(String(event.error))
    if (typeof event.stream === 'string') onText(event.stream)
  }
}
