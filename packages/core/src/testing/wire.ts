import { WireError } from '@agentrl/spec'
import { z } from 'zod'

/** The part of SGLang's `POST /generate` that the scripted engine reads. Unknown keys are accepted, as there. */

const tokenId = z.number().int().nonnegative()

const generateBody = z.object({
  rid: z.string().min(1).optional(),
  input_ids: z.array(tokenId).min(1),
  sampling_params: z
    .object({
      temperature: z.number().nonnegative().default(1),
      max_new_tokens: z.number().int().positive().default(128),
      stop_token_ids: z.array(tokenId).nullish(),
      ignore_eos: z.boolean().default(false),
      skip_special_tokens: z.boolean().default(true),
      no_stop_trim: z.boolean().default(false),
      n: z.literal(1).default(1),
    })
    .loose()
    .prefault({}),
  return_logprob: z.boolean().default(false),
  return_text_in_logprobs: z.boolean().default(false),
  stream: z.boolean().default(false),
})

export interface GenerateBody {
  readonly rid: string | undefined
  readonly inputIds: readonly number[]
  /** As sent: every key, read or not. */
  readonly samplingParams: Readonly<Record<string, unknown>>
  readonly temperature: number
  readonly maxNewTokens: number
  readonly stopTokenIds: readonly number[]
  readonly ignoresEndOfTurn: boolean
  readonly skipsSpecialTokens: boolean
  readonly keepsStopToken: boolean
  readonly returnsLogprobs: boolean
  readonly returnsTextInLogprobs: boolean
  readonly isStreamed: boolean
}

/** Reads the body of `POST /generate`. Throws `wire_invalid_body`. */
export function readGenerateBody(raw: unknown): GenerateBody {
  const parsed = generateBody.safeParse(raw)
  if (!parsed.success) throw invalid(parsed.error)
  const { data } = parsed
  const sampling = data.sampling_params
  return {
    rid: data.rid,
    inputIds: data.input_ids,
    samplingParams: (raw as { readonly sampling_params?: Readonly<Record<string, unknown>> }).sampling_params ?? {},
    temperature: sampling.temperature,
    maxNewTokens: sampling.max_new_tokens,
    stopTokenIds: sampling.stop_token_ids ?? [],
    ignoresEndOfTurn: sampling.ignore_eos,
    skipsSpecialTokens: sampling.skip_special_tokens,
    keepsStopToken: sampling.no_stop_trim,
    returnsLogprobs: data.return_logprob,
    returnsTextInLogprobs: data.return_text_in_logprobs,
    isStreamed: data.stream,
  }
}

const abortBody = z.object({ rid: z.string().default(''), abort_all: z.boolean().default(false) })

/** Reads the body of `POST /abort_request`. Throws `wire_invalid_body`. */
export function readAbortBody(raw: unknown): { readonly rid: string; readonly abortsAll: boolean } {
  const parsed = abortBody.safeParse(raw)
  if (!parsed.success) throw invalid(parsed.error)
  return { rid: parsed.data.rid, abortsAll: parsed.data.abort_all }
}

function invalid(error: z.ZodError): WireError {
  const [issue] = error.issues
  const where = issue?.path.join('.') || 'body'
  return new WireError('wire_invalid_body', `${where}: ${issue?.message ?? 'invalid'}`, { cause: error })
}
