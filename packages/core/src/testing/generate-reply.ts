import type { Tokenizer } from '../render/tokenizer.ts'
import type { SampledTurn } from './sample-scripted-turn.ts'
import type { ScriptedFault } from './scripted-fault.ts'
import type { GenerateBody } from './wire.ts'

/** The answer of SGLang's `POST /generate`: how it ends, and its bytes. */

export type SentFinishReason =
  | { readonly type: 'stop'; readonly matched: number }
  | { readonly type: 'length'; readonly length: number }
  | { readonly type: 'abort'; readonly message: string }

export interface GeneratedTokens {
  readonly ids: Int32Array
  /** One for each id. */
  readonly logprobs: Float32Array
  readonly finishReason: SentFinishReason
}

/** What is left of a sampled turn when it was aborted, and why it ended. */
export function endTurn(
  sampled: SampledTurn,
  options: { readonly isAborted: boolean; readonly fault: ScriptedFault | null },
): GeneratedTokens {
  const { ids, logprobs } = sampled
  const { isAborted, fault } = options
  if (isAborted || fault?.kind === 'abort') {
    const kept = (fault?.kind === 'abort' ? fault.keptTokens : undefined) ?? Math.floor(ids.length / 2)
    const message = isAborted ? 'Aborted by request' : 'Aborted by the engine'
    return { ids: ids.slice(0, kept), logprobs: logprobs.slice(0, kept), finishReason: { type: 'abort', message } }
  }
  const matched = ids.at(-1)
  const isStop = sampled.finish === 'stop' && matched !== undefined
  return { ids, logprobs, finishReason: isStop ? { type: 'stop', matched } : { type: 'length', length: ids.length } }
}

export interface ReplyParts extends Omit<GeneratedTokens, 'logprobs'> {
  readonly rid: string
  /** Those that are sent. Null: none, not even the field. */
  readonly logprobs: Float32Array | null
  readonly cachedTokens: number
  readonly weightVersion: string
  readonly tokenizer: Tokenizer
}

/** Ids in one server-sent event. */
const eventTokens = 8

/**
 * The text of the answer, in pieces. A streamed answer repeats in each event
 * all that came before, as SGLang does by default; only the last event has a
 * finish reason.
 */
export async function generateReply(body: GenerateBody, parts: ReplyParts): Promise<readonly string[]> {
  const length = parts.ids.length
  if (!body.isStreamed) return [JSON.stringify(await replyUpTo(length, body, parts))]
  const events = Math.max(1, Math.ceil(length / eventTokens))
  const ends = Array.from({ length: events }, (_, index) => Math.min((index + 1) * eventTokens, length))
  const replies = await Promise.all(ends.map((end) => replyUpTo(end, body, parts)))
  return [...replies.map((reply) => `data: ${JSON.stringify(reply)}\n\n`), 'data: [DONE]\n\n']
}

async function replyUpTo(end: number, body: GenerateBody, parts: ReplyParts): Promise<unknown> {
  const { tokenizer, finishReason } = parts
  const ids = parts.ids.slice(0, end)
  const isLast = end === parts.ids.length
  const isTrimmed = isLast && finishReason.type === 'stop' && !body.keepsStopToken
  const logprobs = parts.logprobs?.slice(0, end)
  const texts = body.returnsTextInLogprobs
    ? await Promise.all(Array.from(ids, (id) => tokenizer.decode(Int32Array.of(id))))
    : []
  return {
    text: await tokenizer.decode(isTrimmed ? ids.slice(0, -1) : ids, { skipSpecialTokens: body.skipsSpecialTokens }),
    output_ids: Array.from(ids),
    meta_info: {
      id: parts.rid,
      finish_reason: isLast ? finishReason : null,
      prompt_tokens: body.inputIds.length,
      completion_tokens: ids.length,
      cached_tokens: parts.cachedTokens,
      weight_version: parts.weightVersion,
      ...(logprobs && {
        output_token_logprobs: Array.from(logprobs, (logprob, index) => [logprob, ids[index], texts[index] ?? null]),
      }),
    },
  }
}
