import { type ContentPart, type JsonObject, WireError } from '@agentrl/spec'
import { z } from 'zod'
import { describeIssue } from '../../../wire-issue.ts'
import { jsonObject } from '../json-object.ts'
import type { KnownFields } from '../unread-fields.ts'

/** The body of `POST /v1/chat/completions`, as much of it as is used. Unknown keys pass. */
export interface ChatBody {
  readonly model: string
  readonly messages: readonly ChatBodyMessage[]
  readonly tools: readonly ChatBodyTool[]
  readonly stream?: boolean | null | undefined
  readonly stream_options?: { readonly include_usage?: boolean | null | undefined } | null | undefined
  readonly max_tokens?: number | null | undefined
  readonly max_completion_tokens?: number | null | undefined
  readonly n?: number | null | undefined
  readonly stop?: string | readonly string[] | null | undefined
  readonly temperature?: number | null | undefined
  readonly top_p?: number | null | undefined
  readonly top_k?: number | null | undefined
  readonly min_p?: number | null | undefined
  readonly frequency_penalty?: number | null | undefined
  readonly presence_penalty?: number | null | undefined
  readonly repetition_penalty?: number | null | undefined
  readonly seed?: number | null | undefined
  readonly response_format?: { readonly type: string } | null | undefined
}

/** Null content: the client sent none. */
export type ChatBodyContent = readonly ContentPart[] | null

export type ChatBodyMessage =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: ChatBodyContent }
  | {
      readonly role: 'tool'
      readonly content: ChatBodyContent
      readonly tool_call_id?: string | undefined
      readonly name?: string | undefined
    }
  | {
      readonly role: 'assistant'
      readonly content: ChatBodyContent
      readonly reasoning_content?: string | null | undefined
      readonly reasoning?: string | null | undefined
      readonly tool_calls?: readonly ChatBodyCall[] | null | undefined
    }

export interface ChatBodyCall {
  readonly id?: string | undefined
  readonly function: {
    readonly name: string
    readonly arguments?: string | JsonObject | null | undefined
  }
}

export interface ChatBodyTool {
  readonly type: string
  /** Absent for tools that the vendor's server would run. */
  readonly function?:
    | {
        readonly name: string
        readonly description?: string | null | undefined
        readonly parameters?: JsonObject | null | undefined
      }
    | undefined
}

const part = z.union([
  z
    .object({ type: z.enum(['text', 'input_text', 'output_text']), text: z.string() })
    .transform(({ text }): ContentPart => ({ type: 'text', text })),
  z
    .object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) })
    .transform(({ image_url: { url } }): ContentPart => ({ type: 'image', url })),
  z
    .object({ type: z.literal('refusal'), refusal: z.string() })
    .transform(({ refusal }): ContentPart => ({ type: 'text', text: refusal })),
])

const content = z
  .union([z.string().transform((text): ContentPart[] => [{ type: 'text', text }]), z.array(part)])
  .nullish()
  .transform((parts): ChatBodyContent => parts ?? null)

const call = z.object({
  id: z.string().optional(),
  function: z.object({
    name: z.string(),
    arguments: z.union([z.string(), jsonObject]).nullish(),
  }),
})

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer', 'user']), content }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string().optional(), name: z.string().optional() }),
  z.object({
    role: z.literal('assistant'),
    content,
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    tool_calls: z.array(call).nullish(),
  }),
])

const tool = z.object({
  type: z.string(),
  function: z
    .object({
      name: z.string(),
      description: z.string().nullish(),
      parameters: jsonObject.nullish(),
    })
    .optional(),
})

const body = z.object({
  model: z.string().default(''),
  messages: z.array(message).min(1, 'expected at least one message'),
  tools: z
    .array(tool)
    .nullish()
    .transform((tools) => tools ?? []),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  n: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  min_p: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  seed: z.number().nullish(),
  response_format: z.object({ type: z.string() }).nullish().catch(null),
})

/** Fields of a body, and the values of unserved ones that ask for nothing. */
export const chatFields: KnownFields = {
  read: Object.keys(body.shape),
  neutral: {
    response_format: (format) => isOfType(format, 'text'),
    tool_choice: (choice) => choice === 'auto',
    parallel_tool_calls: (isParallel) => isParallel === true,
    logprobs: (isWanted) => isWanted === false,
  },
}

function isOfType(value: unknown, type: string): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === type
}

/** Checks a body. Throws `wire_invalid_body`. */
export function readChatBody(raw: unknown): ChatBody {
  const parsed = body.safeParse(raw)
  if (parsed.success) return parsed.data
  throw new WireError('wire_invalid_body', `Not a Chat Completions request: ${describeIssue(parsed.error)}`, {
    cause: parsed.error,
  })
}
