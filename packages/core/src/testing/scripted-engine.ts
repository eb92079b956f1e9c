/// <reference lib="esnext.disposable" />
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isAgentRlError, ValueError } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import { encodeHermesTurn } from './encode-hermes-turn.ts'
import { readJsonBody, sendError, sendJson } from './engine-http.ts'
import { createScriptedCalls, type RecordedCall } from './scripted-calls.ts'
import type { HeldCall, ScriptedFault } from './scripted-fault.ts'
import { createScriptedModel } from './scripted-model.ts'
import type { ScriptedPlayer, TurnEncoder } from './scripted-turn.ts'
import { readAbortBody } from './wire.ts'

/**
 * The scripted engine: a stand-in for an inference engine. There is no model.
 *
 *     POST /generate ─▶ prompt ids ─▶ text, turn number, conversation (from rid)
 *                                        │ player
 *                                        ▼
 *                                      turn ─▶ ids of the real tokenizer, some split non-canonically,
 *                                              log-probabilities of the stand-in's own distribution
 *
 * It speaks SGLang's HTTP protocol: `/generate` (whole and streamed),
 * `/abort_request`, `/flush_cache`, `/v1/loads`, `/health`, `/server_info`,
 * `/model_info`, `/get_weight_version`. Each answer says in a header that it is
 * a stand-in, and so do `/server_info` and `/model_info`. It does not batch,
 * take time, share prefixes between conversations, or apply any sampling key
 * but `temperature` (which players see), lengths and stop ids.
 *
 * Everything follows from the seed, the player and the calls: no clock, no
 * other randomness. Each call is recorded as it was answered.
 */

/** The model that `/model_info` and the header `x-agentrl-stand-in` name. */
export const scriptedModelName = 'agentrl-scripted-stand-in'

export interface ScriptedEngineOptions {
  readonly tokenizer: Tokenizer
  readonly player: ScriptedPlayer
  /** Default 0. */
  readonly seed?: number
  /** Share of answers that are split non-canonically; in [0, 1]. Default 0.3. */
  readonly nonCanonicalRate?: number
  /** Default: the format of Hermes and Qwen3. */
  readonly encodeTurn?: TurnEncoder
  /** What the template writes at the start of an assistant turn. Default `<|im_start|>assistant`. */
  readonly assistantMarker?: string
  /** Prompt and answer together, in tokens. Default 131072. */
  readonly contextLength?: number
  /** The oldest records are dropped beyond this. Default 10000. */
  readonly maxRecordedCalls?: number
  /** A TCP port (default: any free one of 127.0.0.1), or a Unix socket. */
  readonly listen?: { readonly host?: string; readonly port?: number } | { readonly socketPath: string }
}

export interface ScriptedEngine {
  /** Base address, for example `http://127.0.0.1:34567`; with a Unix socket `http://localhost`. */
  readonly url: string
  readonly socketPath: string | null
  /** In the order of their answers. */
  readonly calls: readonly RecordedCall[]
  /** Calls that have come and have not been answered. */
  readonly runningCalls: number
  /** The next call that comes has this fault. Several queue up. */
  injectFault(fault: ScriptedFault): void
  /** The next call that comes waits until it is released, aborted, or left by its client. Several queue up. */
  holdNextCall(): HeldCall
  /** Stamped on answers from now on, those of running calls included. At first `scripted-0`. */
  setWeightVersion(version: string): void
  /** Ends the server and every open connection. Twice is fine. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

type Route = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** Starts the stand-in. Close it, or use `await using`. Throws `value_invalid` for a rate outside [0, 1]. */
export async function startScriptedEngine(options: ScriptedEngineOptions): Promise<ScriptedEngine> {
  const { tokenizer, player, seed = 0, nonCanonicalRate = 0.3 } = options
  const { encodeTurn = encodeHermesTurn, assistantMarker = '<|im_start|>assistant' } = options
  const { contextLength = 131_072, maxRecordedCalls = 10_000, listen = {} } = options
  if (!(nonCanonicalRate >= 0 && nonCanonicalRate <= 1)) {
    throw new ValueError('value_invalid', `nonCanonicalRate is in [0, 1]; found ${nonCanonicalRate}`)
  }
  const model = await createScriptedModel({ tokenizer, player, seed, nonCanonicalRate, encodeTurn, assistantMarker })
  const calls = createScriptedCalls({ model, tokenizer, contextLength, maxRecordedCalls })

  const sendInfo: Route = (_, response) =>
    sendJson(response, 200, {
      model_path: scriptedModelName,
      is_stand_in: true,
      description: 'AgentRL scripted engine: plays scripts, samples from no model',
      tokenizer: tokenizer.name,
      weight_version: calls.weightVersion,
      context_length: contextLength,
      non_canonical_rate: nonCanonicalRate,
      seed,
    })
  const sendNothing: Route = (_, response) => void response.end()
  const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
    ['/generate', calls.generate],
    [
      '/abort_request',
      async (request, response) => {
        const { rid, abortsAll } = readAbortBody(await readJsonBody(request))
        calls.abort(abortsAll ? null : rid)
        response.end()
      },
    ],
    [
      '/flush_cache',
      (_, response) => {
        if (calls.runningCount > 0)
          return sendError(response, 400, `Not flushed: ${calls.runningCount} running requests`)
        calls.forgetPrefixes()
        response.end('Cache flushed.\n')
      },
    ],
    [
      '/v1/loads',
      (_, response) => {
        const count = calls.runningCount
        const load = {
          dp_rank: 0,
          num_running_reqs: count,
          num_waiting_reqs: 0,
          num_reqs: count,
          num_total_reqs: count,
        }
        sendJson(response, 200, { loads: [load] })
      },
    ],
    ['/health', sendNothing],
    ['/health_generate', sendNothing],
    ['/server_info', sendInfo],
    ['/get_server_info', sendInfo],
    ['/model_info', sendInfo],
    ['/get_model_info', sendInfo],
    ['/get_weight_version', (_, response) => sendJson(response, 200, { weight_version: calls.weightVersion })],
  ])

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('x-agentrl-stand-in', scriptedModelName)
    const path = (request.url ?? '/').replace(/\?.*/, '')
    try {
      const route = routes.get(path)
      if (route) await route(request, response)
      else sendError(response, 404, `The scripted engine has no ${path}`)
    } catch (error) {
      const status = !isAgentRlError(error) ? 500 : error.code === 'wire_body_too_large' ? 413 : 400
      sendError(response, status, error instanceof Error ? error.message : String(error))
    }
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(
      'socketPath' in listen ? { path: listen.socketPath } : { host: '127.0.0.1', port: 0, ...listen },
      resolve,
    )
  })
  const address = server.address()
  const close = async (): Promise<void> => {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  return {
    url: typeof address === 'object' && address !== null ? urlOf(address) : 'http://localhost',
    socketPath: typeof address === 'string' ? address : null,
    calls: calls.records,
    get runningCalls() {
      return calls.runningCount
    },
    injectFault: calls.injectFault,
    holdNextCall: calls.holdNextCall,
    setWeightVersion(version) {
      calls.weightVersion = version
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function urlOf({
  address,
  family,
  port,
}: {
  readonly address: string
  readonly family: string
  readonly port: number
}): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
