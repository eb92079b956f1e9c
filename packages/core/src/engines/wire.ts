import { EngineError, type FinishReason, type WeightSpan } from '@agentrl/spec'
import { z } from 'zod'
import { describeIssue } from '../wire-issue.ts'

/** Bodies of SGLang's HTTP server, read leniently: unknown keys pass, only what we use is required. */

/** A `/generate` answer, with ids and log-probabilities side by side. */
export interface GenerateBody {
  /** Null where the answer has no log-probability rows at all. */
  readonly ids: readonly number[] | null
  readonly logprobs: readonly number[] | null
  readonly finish: { readonly type: FinishReason; readonly message: string; readonly statusCode: number | null }
  readonly completionTokens: number | null
  readonly cachedTokens: number | null
  readonly weightVersion: string | null
  readonly weightVersions: readonly WeightSpan[] | null
  /** Expert indices as they were sent, flat; null where there are none. */
  readonly routedExperts: Int32Array | null
}

const tokenRow = z.union([
  z.tuple([z.number(), z.int().nonnegative()]).rest(z.unknown()),
  z.object({ logprob: z.number(), token_id: z.int().nonnegative() }).transform((row) => [row.logprob, row.token_id]),
])

const generateSchema = z.object({
  meta_info: z.object({
    finish_reason: z.object({
      type: z.enum(['stop', 'length', 'abort']),
      message: z.string().nullish(),
      status_code: z.number().nullish(),
    }),
    completion_tokens: z.int().nonnegative().nullish(),
    cached_tokens: z.int().nonnegative().nullish(),
    output_token_logprobs: z.array(tokenRow).nullish(),
    weight_version: z.union([z.string(), z.number()]).nullish(),
    weight_versions: z
      .array(z.object({ version: z.union([z.string(), z.number()]), start: z.int(), end: z.int() }))
      .nullish(),
    routed_experts: z.string().nullish(),
  }),
})

/** Reads a `/generate` answer. Throws `engine_bad_response`. */
export function readGenerateBody(raw: unknown): GenerateBody {
  const parsed = generateSchema.safeParse(raw)
  if (!parsed.success) throw badResponse('/generate', parsed.error)
  const { meta_info: meta } = parsed.data
  const rows = meta.output_token_logprobs ?? (meta.completion_tokens === 0 ? [] : null)
  return {
    ids: rows?.map((row) => row[1] as number) ?? null,
    logprobs: rows?.map((row) => row[0] as number) ?? null,
    finish: {
      type: meta.finish_reason.type,
      message: meta.finish_reason.message ?? '',
      statusCode: meta.finish_reason.status_code ?? null,
    },
    completionTokens: meta.completion_tokens ?? null,
    cachedTokens: meta.cached_tokens ?? null,
    weightVersion: meta.weight_version == null ? null : String(meta.weight_version),
    weightVersions:
      meta.weight_versions?.map((span) => ({
        version: String(span.version),
        tokenStart: span.start,
        tokenEnd: span.end,
      })) ?? null,
    routedExperts: meta.routed_experts == null ? null : readInt32(meta.routed_experts),
  }
}

/** Little-endian 32-bit integers in base64. Throws `engine_bad_response`. */
function readInt32(base64: string): Int32Array {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length % 4 !== 0) {
    throw new EngineError(
      'engine_bad_response',
      `routed_experts are 32-bit integers in base64; found ${bytes.length} bytes`,
    )
  }
  return Int32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readInt32LE(index * 4))
}

const serverInfoSchema = z.object({ model_path: z.string().nullish(), is_stand_in: z.boolean().nullish() })

/** What a server says of itself in `/get_model_info`. Throws `engine_bad_response`. */
export function readServerInfo(raw: unknown): { modelPath: string | null; isStandIn: boolean } {
  const parsed = serverInfoSchema.safeParse(raw)
  if (!parsed.success) throw badResponse('/get_model_info', parsed.error)
  return { modelPath: parsed.data.model_path ?? null, isStandIn: parsed.data.is_stand_in ?? false }
}

function badResponse(path: string, error: z.ZodError): EngineError {
  return new EngineError(
    'engine_bad_response',
    `The engine's answer to ${path} is not what SGLang sends: ${describeIssue(error)}`,
    { cause: error },
  )
}
