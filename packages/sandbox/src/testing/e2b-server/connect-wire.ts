import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'

/**
 * The wire of Connect RPC with JSON, as far as envd speaks it.
 *
 * A unary call is a JSON body with status 200, or `{code, message}` with the
 * status of its code. A server stream is `application/connect+json`, a row of
 * envelopes, the request in one of its own:
 *
 *     byte 0      2 for the last envelope, else 0
 *     bytes 1..4  size, big-endian
 *     JSON        the last one: {} or {"error": {"code", "message"}}
 *
 * Source: connectrpc.com, "Connect Protocol Reference".
 */
export type ConnectCode =
  | 'invalid_argument'
  | 'not_found'
  | 'unauthenticated'
  | 'deadline_exceeded'
  | 'unimplemented'
  | 'internal'

const statuses: Record<ConnectCode, number> = {
  invalid_argument: 400,
  unauthenticated: 401,
  not_found: 404,
  internal: 500,
  unimplemented: 501,
  deadline_exceeded: 504,
}

/** An answer that is an error. */
export class ConnectFailure extends Error {
  readonly code: ConnectCode
  constructor(code: ConnectCode, message: string) {
    super(message)
    this.code = code
  }
}

export async function readUnary(request: IncomingMessage): Promise<unknown> {
  return JSON.parse((await buffer(request)).toString('utf8') || '{}')
}

export async function readEnveloped(request: IncomingMessage): Promise<unknown> {
  const body = await buffer(request)
  return JSON.parse(body.subarray(5, 5 + body.readUInt32BE(1)).toString('utf8'))
}

export function answerUnary(response: ServerResponse, message: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message))
}

export function failUnary(response: ServerResponse, { code, message }: ConnectFailure): void {
  response.writeHead(statuses[code], { 'content-type': 'application/json' }).end(JSON.stringify({ code, message }))
}

/** A server stream that is being answered. */
export interface ConnectStream {
  send(message: unknown): void
  end(failure?: ConnectFailure): void
}

export function openStream(response: ServerResponse): ConnectStream {
  response.writeHead(200, { 'content-type': 'application/connect+json' })
  response.flushHeaders()
  return {
    send: (message) => void response.write(envelope(0, message)),
    end(failure) {
      const { code, message } = failure ?? {}
      response.end(envelope(2, failure === undefined ? {} : { error: { code, message } }))
    },
  }
}

function envelope(flags: number, message: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head.writeUInt8(flags, 0)
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}
