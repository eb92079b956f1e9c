import {
  EngineError,
  type EngineReply,
  type EngineRequest,
  isAgentRlError,
  type RoutedExperts,
  type WeightSpan,
} from '@agentrl/spec'
import { concatenateIds } from '../render/concatenate-ids.ts'
import type { Session } from './session.ts'
import type { TurnParts } from './turn-parts.ts'

/**
 * The reply of one turn, from one engine call or several:
 *
 * - A call that failed returned no sample. It may be made again under a new id,
 *   within the budget; its tokens, if any, are lost, and the call is counted.
 * - A call that the engine aborted (a weight update, a pause) did return a part
 *   of the sample. The turn is never sampled again from its start, which would
 *   favour short turns: prompt and part are submitted, and the rest is appended.
 * - An engine that goes on behind a stop id (it decodes several ids at a time,
 *   or does not know this one) has sampled what no prompt can hold. The turn
 *   ends at its first stop id; what came after is counted and left out.
 */
interface SamplingContext {
  readonly parts: Pick<TurnParts, 'engine' | 'engineRetries' | 'logger'>
  readonly session: Session
  readonly signal: AbortSignal
}

/** Aborted calls of one turn that are continued. */
const maxContinuations = 16

/** Throws `EngineError`, or the reason of the signal. */
export async function sampleTurn(request: EngineRequest, context: SamplingContext): Promise<EngineReply> {
  const { session } = context
  let sampled: EngineReply | null = null
  try {
    for (let continuation = 0; continuation <= maxContinuations; continuation += 1) {
      const reply = await callEngine(continueRequest(request, sampled, continuation), context)
      const joined = sampled === null ? reply : joinReplies(sampled, reply)
      sampled = endAtBudget(endAtStop(joined, request.stopTokenIds, session), request.maxNewTokens, session)
      if (sampled.finishReason !== 'abort') {
        session.engineFailure = null
        return sampled
      }
      session.counters.add('engine_abort_continued')
    }
    throw new EngineError(
      'engine_aborted',
      `The engine aborted this turn ${maxContinuations + 1} times: is it being drained or shut down?`,
    )
  } catch (error) {
    session.trajectory.recordDiscarded('engine_aborted', sampled?.outputIds.length ?? 0)
    if (error instanceof EngineError) session.engineFailure = error
    throw error
  }
}

/** The reply up to its first stop id, whatever the engine calls its end. */
function endAtStop(reply: EngineReply, stopTokenIds: readonly number[], session: Session): EngineReply {
  const stop = reply.outputIds.findIndex((id) => stopTokenIds.includes(id))
  if (stop < 0) return reply
  const end = stop + 1
  const beyond = reply.outputIds.length - end
  if (beyond === 0) return { ...reply, finishReason: 'stop' }
  session.trajectory.recordDiscarded('stop_token_mismatch', beyond)
  session.counters.add('engine_overshot_stop')
  const { routedExperts, ...rest } = reply
  return {
    ...rest,
    outputIds: reply.outputIds.slice(0, end),
    outputLogprobs: reply.outputLogprobs.slice(0, end),
    finishReason: 'stop',
    ...(reply.weightSpans === undefined ? {} : { weightSpans: spansUpTo(reply.weightSpans, end) }),
    ...(routedExperts === undefined ? {} : { routedExperts: withoutRows(routedExperts, beyond) }),
  }
}

/** An output that was aborted when it had all the ids that it may have is whole: to go on would sample one too many. */
function endAtBudget(reply: EngineReply, maxNewTokens: number, session: Session): EngineReply {
  if (reply.finishReason !== 'abort' || reply.outputIds.length < maxNewTokens) return reply
  session.counters.add('engine_abort_at_length')
  return { ...reply, finishReason: 'length' }
}

function spansUpTo(spans: readonly WeightSpan[], end: number): readonly WeightSpan[] {
  return spans
    .filter((span) => span.tokenStart < end)
    .map((span) => ({ ...span, tokenEnd: Math.min(span.tokenEnd, end) }))
}

/** Rows are positions of prompt and output in order, so what was cut off the output is cut off their end. */
function withoutRows(experts: RoutedExperts, rows: number): RoutedExperts {
  const rowLength = experts.layers * experts.topK
  return { ...experts, indices: experts.indices.slice(0, Math.max(0, experts.indices.length - rows * rowLength)) }
}

function continueRequest(request: EngineRequest, sampled: EngineReply | null, continuation: number): EngineRequest {
  if (sampled === null) return request
  return {
    ...request,
    requestId: `${request.requestId}_c${continuation}`,
    promptIds: concatenateIds([request.promptIds, sampled.outputIds]),
    ...(sampled.routedExperts === undefined ? {} : { knownExpertRows: endOfRows(sampled.routedExperts) }),
    maxNewTokens: request.maxNewTokens - sampled.outputIds.length,
  }
}

async function callEngine(request: EngineRequest, { parts, session, signal }: SamplingContext): Promise<EngineReply> {
  for (let attempt = 0; ; attempt += 1) {
    const requestId = attempt === 0 ? request.requestId : `${request.requestId}_r${attempt}`
    try {
      return await parts.engine.generate({ ...request, requestId }, { signal })
    } catch (error) {
      // A refused request sampled nothing; of any other failure we can't know.
      const sampledNothing = isAgentRlError(error) && error.code === 'engine_rejected_request'
      if (!sampledNothing) session.trajectory.recordLostCall()
      const isRetryable = isAgentRlError(error) && error.isRetryable && !signal.aborted
      if (!isRetryable || attempt >= parts.engineRetries) throw error
      session.counters.add(`engine_retry.${error.code}`)
      parts.logger.warn('an engine call failed and is made again', {
        requestId,
        code: error.code,
        error: error.message,
      })
    }
  }
}

function joinReplies(first: EngineReply, second: EngineReply): EngineReply {
  const offset = first.outputIds.length
  const outputLogprobs = new Float32Array(offset + second.outputIds.length)
  outputLogprobs.set(first.outputLogprobs as Float32Array)
  outputLogprobs.set(second.outputLogprobs as Float32Array, offset)
  const shifted = (second.weightSpans ?? []).map(
    (span): WeightSpan => ({ ...span, tokenStart: span.tokenStart + offset, tokenEnd: span.tokenEnd + offset }),
  )
  return {
    outputIds: concatenateIds([first.outputIds, second.outputIds]),
    outputLogprobs,
    finishReason: second.finishReason,
    weightSpans: [...(first.weightSpans ?? []), ...shifted],
    ...joinExperts(first.routedExperts, second.routedExperts),
    ...(first.cachedTokens === undefined ? {} : { cachedTokens: first.cachedTokens }),
  }
}

function endOfRows({ positionStart, layers, topK, indices }: RoutedExperts): number {
  return positionStart + indices.length / (layers * topK)
}

/** The rows of both parts. An aborted part may come without: then the next was asked for all. None: rows are missing. */
function joinExperts(
  first: RoutedExperts | undefined,
  second: RoutedExperts | undefined,
): Pick<EngineReply, 'routedExperts'> {
  if (second === undefined) return {}
  if (first === undefined) return { routedExperts: second }
  if (second.positionStart > endOfRows(first)) return {}
  const width = first.layers * first.topK
  if (second.layers * second.topK !== width) return {}
  const repeated = (endOfRows(first) - second.positionStart) * width
  const added = second.indices.subarray(repeated)
  const indices = new Int32Array(first.indices.length + added.length)
  indices.set(first.indices)
  indices.set(added, first.indices.length)
  return { routedExperts: { ...first, indices } }
}
