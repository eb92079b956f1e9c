import { ServerResponse } from 'node:http'
import type { Context } from 'hono'

/**
 * Aborts when the connection ends before the answer has gone out whole. The
 * request's own signal does so while an answer is being written in pieces; of
 * one that was written at once only the response knows whether it was flushed.
 */
export function clientSignal(context: Context): AbortSignal {
  const requestSignal = context.req.raw.signal
  // Absent where a request is served without a socket.
  const outgoing = (context.env as { readonly outgoing?: unknown } | undefined)?.outgoing
  if (!(outgoing instanceof ServerResponse)) return requestSignal
  const lost = new AbortController()
  const { socket } = outgoing
  let isFlushed = false
  outgoing.once('finish', () => {
    // A broken connection takes what is left to write with it, and the response finishes all the same.
    isFlushed = socket === null || (socket.errored === null && !socket.destroyed)
  })
  outgoing.once('close', () => {
    if (!isFlushed) lost.abort(new Error('the connection ended before the answer was out'))
  })
  return AbortSignal.any([requestSignal, lost.signal])
}
