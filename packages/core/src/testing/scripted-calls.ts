import type { IncomingMessage, ServerResponse } from 'node:http'
import { WireError } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import { isSentWhole, readJsonBody, sendError, sendPieces } from './engine-http.ts'
import { endTurn, generateReply, type SentFinishReason } from './generate-reply.ts'
import { createPrefixMemory } from './prefix-memory.ts'
import type { HeldCall, ScriptedFault } from './scripted-fault.ts'
import type { ScriptedModel } from './scripted-model.ts'
import { type GenerateBody, readGenerateBody } from './wire.ts'

/**
 * The calls of `/generate`, from request to answer: which run, which wait,
 * which fail on purpose, and what each was answered.
 */

/** One call of `/generate` that was a valid request, and its answer. */
export interface RecordedCall {
  readonly rid: string
  /** `rid` without the turn that our adapter appends (`_t3`, `_t3_r1`). */
  readonly conversationId: string
  /** The header `x-smg-routing-key`. */
  readonly routingKey: string | null
  readonly inputIds: Int32Array
  /** As received. */
  readonly samplingParams: Readonly<Record<string, unknown>>
  /** As sent. Empty for an HTTP error. */
  readonly outputIds: Int32Array
  /** One for each output id, also where a fault kept them back. */
  readonly outputLogprobs: Float32Array
  readonly finishReason: SentFinishReason
  /** `encode(decode(ids))` of the whole turn gives other ids. */
  readonly isNonCanonical: boolean
  readonly weightVersion: string
  readonly fault: ScriptedFault['kind'] | null
  /** The whole answer went out: no fault cut it, and the client was still there. */
  readonly isAnswered: boolean
}

export interface ScriptedCalls {
  /** In the order of their answers. */
  readonly records: readonly RecordedCall[]
  readonly runningCount: number
  weightVersion: string
  /** Serves `POST /generate`. Throws `WireError` for a request that is not valid. */
  generate(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Aborts the running call of that rid; all of them for null. */
  abort(rid: string | null): void
  forgetPrefixes(): void
  injectFault(fault: ScriptedFault): void
  holdNextCall(): HeldCall
}

export function createScriptedCalls(options: {
  readonly model: ScriptedModel
  readonly tokenizer: Tokenizer
  readonly contextLength: number
  readonly maxRecordedCalls: number
}): ScriptedCalls {
  const { model, tokenizer, contextLength, maxRecordedCalls } = options
  const records: RecordedCall[] = []
  const running = new Map<string, AbortController>()
  const faults: ScriptedFault[] = []
  const holds: { arrive(): void; readonly released: Promise<void>; end(): void }[] = []
  const prefixes = createPrefixMemory()
  let anonymousCalls = 0

  const readRequest = async (request: IncomingMessage): Promise<GenerateBody & { readonly rid: string }> => {
    const body = readGenerateBody(await readJsonBody(request))
    anonymousCalls += body.rid === undefined ? 1 : 0
    const rid = body.rid ?? `anonymous-${anonymousCalls}`
    const objection = running.has(rid)
      ? `rid: a request with rid "${rid}" is running`
      : findObjection(body, { vocabularySize: tokenizer.vocabularySize, contextLength })
    if (objection !== null) throw new WireError('wire_invalid_body', objection)
    return { ...body, rid }
  }

  const calls: ScriptedCalls = {
    records,
    get runningCount() {
      return running.size
    },
    weightVersion: 'scripted-0',

    async generate(request, response) {
      const body = await readRequest(request)
      const { rid, samplingParams } = body
      const fault = faults.shift() ?? null
      const hold = holds.shift()
      const controller = new AbortController()
      running.set(rid, controller)
      response.once('close', () => controller.abort())
      const call = {
        rid,
        conversationId: rid.replace(/_t\d+(_r\d+)?$/, ''),
        routingKey: [request.headers['x-smg-routing-key']].flat()[0] ?? null,
        inputIds: Int32Array.from(body.inputIds),
        samplingParams,
        fault: fault?.kind ?? null,
      }
      // Before the answer goes out: a client that has read it finds the engine idle and the call recorded.
      const record = (answer: Omit<RecordedCall, keyof typeof call | 'weightVersion'>): void => {
        running.delete(rid)
        records.push({ ...call, ...answer, weightVersion: calls.weightVersion })
        records.splice(0, records.length - maxRecordedCalls)
        hold?.end()
      }
      try {
        hold?.arrive()
        if (hold) await Promise.race([hold.released, whenAborted(controller.signal)])
        if (fault?.kind === 'http-error') throw new Error('as a test asked')
        const sampled = await model({ ...body, ...call })
        const generated = endTurn(sampled, { isAborted: controller.signal.aborted, fault })
        const { ids, logprobs, finishReason } = generated
        const pieces = await generateReply(body, {
          ...generated,
          rid,
          logprobs: body.returnsLogprobs ? keepLogprobs(logprobs, fault) : null,
          cachedTokens: prefixes.reuse(call.conversationId, { inputIds: call.inputIds, outputIds: ids }),
          weightVersion: calls.weightVersion,
          tokenizer,
        })
        const isAnswered = isSentWhole(response, fault)
        record({
          outputIds: ids,
          outputLogprobs: logprobs,
          finishReason,
          isNonCanonical: sampled.isNonCanonical,
          isAnswered,
        })
        sendPieces(response, { pieces, isStreamed: body.isStreamed, fault })
      } catch (error) {
        const message = `The scripted engine failed: ${error instanceof Error ? error.message : String(error)}`
        const nothing = { outputIds: new Int32Array(), outputLogprobs: new Float32Array() }
        record({ ...nothing, finishReason: { type: 'abort', message }, isNonCanonical: false, isAnswered: false })
        sendError(response, fault?.kind === 'http-error' ? (fault.status ?? 500) : 500, message)
      }
    },

    abort(rid) {
      for (const [runningRid, controller] of running) if (rid === null || rid === runningRid) controller.abort()
    },
    forgetPrefixes: prefixes.clear,
    injectFault: (fault) => void faults.push(fault),
    holdNextCall() {
      const arrival = openPromise()
      const release = openPromise()
      const end = openPromise()
      holds.push({ arrive: arrival.resolve, released: release.promise, end: end.resolve })
      return { arrived: arrival.promise, release: release.resolve, ended: end.promise }
    },
  }
  return calls
}

/** Why SGLang would refuse the request; null if it would not. */
function findObjection(
  body: GenerateBody,
  limits: { readonly vocabularySize: number; readonly contextLength: number },
): string | null {
  const { vocabularySize, contextLength } = limits
  const length = body.inputIds.length
  const stray = body.inputIds.find((id) => id >= vocabularySize)
  if (stray !== undefined) return `input_ids: ${stray} is outside the vocabulary of ${vocabularySize}`
  if (length >= contextLength) {
    return `The input (${length} tokens) is longer than the model's context length (${contextLength} tokens).`
  }
  if (length + body.maxNewTokens <= contextLength) return null
  return `Requested token count exceeds the model's maximum context length of ${contextLength} tokens. You requested a total of ${length + body.maxNewTokens} tokens: ${length} tokens from the input messages and ${body.maxNewTokens} tokens for the completion.`
}

function keepLogprobs(logprobs: Float32Array, fault: ScriptedFault | null): Float32Array | null {
  if (fault?.kind === 'missing-logprobs') return null
  return fault?.kind === 'wrong-length' ? logprobs.slice(0, -1) : logprobs
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** A promise with its resolver outside; `Promise.withResolvers` needs Node 22. */
function openPromise(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((resolvePromise) => {
    resolve = resolvePromise
  })
  return { promise, resolve }
}
