import type { IncomingMessage, ServerResponse } from 'node:http'
import { WireError } from '@agentrl/spec'
import type { ScriptedFault } from './scripted-fault.ts'

/** Reading and writing of the scripted engine's HTTP messages. */

const maxBodyBytes = 64 * 1024 * 1024

/** The JSON of a request; `{}` for an empty body. Throws `wire_invalid_json`, `wire_body_too_large`. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > maxBodyBytes) {
      throw new WireError('wire_body_too_large', `The body is over the limit of ${maxBodyBytes} bytes`)
    }
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch (cause) {
    throw new WireError('wire_invalid_json', `The body is not JSON: ${String(cause)}`, { cause })
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** SGLang's error body. */
export function sendError(response: ServerResponse, status: number, message: string): void {
  const type = status === 500 ? 'InternalServerError' : 'BadRequestError'
  sendJson(response, status, { object: 'error', message, type, code: status, error: { message } })
}

/** Whether a client gets the whole answer: it is still there, and no fault cuts it. */
export function isSentWhole(response: ServerResponse, fault: ScriptedFault | null): boolean {
  return !response.destroyed && fault?.kind !== 'connection-drop' && fault?.kind !== 'malformed-json'
}

/** Sends the pieces of a 200 answer, or what the fault leaves of them. */
export function sendPieces(
  response: ServerResponse,
  options: { readonly pieces: readonly string[]; readonly isStreamed: boolean; readonly fault: ScriptedFault | null },
): void {
  const { pieces, isStreamed, fault } = options
  if (fault?.kind === 'connection-drop' && fault.when === 'before-reply') response.destroy()
  if (response.destroyed) return
  response.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' })
  const text = pieces.join('')
  const firstHalf = text.slice(0, Math.ceil(text.length / 2))
  if (fault?.kind === 'connection-drop') response.write(firstHalf, () => response.destroy())
  else if (fault?.kind === 'malformed-json') response.end(firstHalf)
  else {
    for (const piece of pieces) response.write(piece)
    response.end()
  }
}
