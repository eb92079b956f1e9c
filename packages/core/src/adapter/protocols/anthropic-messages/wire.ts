import { type JsonObject, WireError } from '@agentrl/spec'
import { z } from 'zod'
import { describeIssue } from '../../../wire-issue.ts'
import { jsonObject } from '../json-object.ts'
import type { KnownFields } from '../unread-fields.ts'

/** The body of `POST /v1/messages`, as much of it as is used. Unknown keys pass. */
export interface MessagesBody {
  readonly model: string
  /** Blocks of text. A string is one block. */
  readonly system: readonly string[]
  readonly messages: readonly MessagesBodyMessage[]
  readonly tools: readonly MessagesBodyTool[]
  readonly stream?: boolean | null | undefined
  readonly max_tokens?: number | null | undefined
  readonly stop_sequences?: readonly string[] | null | undefined
  readonly thinking?: { readonly type: string } | null | undefined
  readonly output_config?: { readonly format?: unknown } | null | undefined
  readonly temperature?: number | null | undefined
  readonly top_p?: number | null | undefined
  readonly top_k?: number | null | undefined
}

export interface MessagesBodyMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly blocks: readonly MessagesBlock[]
}

export interface MessagesBodyTool {
  readonly name: string
  readonly type?: string | null | undefined
  readonly description?: string | null | undefined
  /** Absent for tools that the vendor's server would run. */
  readonly input_schema?: JsonObject | undefined
}

export type MessagesBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'thinking'; readonly thinking: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly type: 'tool_result'
      readonly toolUseId: string
      readonly isError: boolean
      readonly blocks: readonly MessagesBlock[]
    }
  /** A kind of block that says nothing to a model, or that we don't know. */
  | { readonly type: 'other'; readonly kind: string }

const textBlock = z.object({ type: z.literal('text'), text: z.string() })

const imageBlock = z
  .object({
    type: z.literal('image'),
    source: z.object({ url: z.string().optional(), media_type: z.string().optional(), data: z.string().optional() }),
  })
  .transform(
    ({ source }): MessagesBlock => ({
      type: 'image',
      url: source.url ?? `data:${source.media_type ?? 'application/octet-stream'};base64,${source.data ?? ''}`,
    }),
  )

const thinkingBlock = z.object({ type: z.literal('thinking'), thinking: z.string() })

const toolUseBlock = z.object({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
})

const knownTypes = new Set(['text', 'image', 'thinking', 'tool_use', 'tool_result'])

const otherBlock = z
  .object({ type: z.string().refine((type) => !knownTypes.has(type), 'a block of this type needs other fields') })
  .transform(({ type }): MessagesBlock => ({ type: 'other', kind: type }))

const asBlocks = (text: string): MessagesBlock[] => [{ type: 'text', text }]

const toolResultBlock = z
  .object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    is_error: z.boolean().nullish(),
    content: z.union([z.string().transform(asBlocks), z.array(z.union([textBlock, imageBlock, otherBlock]))]).nullish(),
  })
  .transform(
    (block): MessagesBlock => ({
      type: 'tool_result',
      toolUseId: block.tool_use_id,
      isError: block.is_error ?? false,
      blocks: block.content ?? [],
    }),
  )

const block = z.union([textBlock, toolUseBlock, toolResultBlock, thinkingBlock, imageBlock, otherBlock])

const message = z
  .object({
    role: z.enum(['user', 'assistant', 'system']),
    content: z.union([z.string().transform(asBlocks), z.array(block)]),
  })
  .transform(({ role, content }): MessagesBodyMessage => ({ role, blocks: content }))

const body = z.object({
  model: z.string().default(''),
  system: z
    .union([
      z.string().transform((text) => [text]),
      z.array(textBlock).transform((blocks) => blocks.map(({ text }) => text)),
    ])
    .nullish()
    .transform((system) => system ?? []),
  messages: z.array(message).min(1, 'expected at least one message'),
  tools: z
    .array(
      z.object({
        type: z.string().nullish(),
        name: z.string(),
        description: z.string().nullish(),
        input_schema: jsonObject.optional(),
      }),
    )
    .nullish()
    .transform((tools) => tools ?? []),
  stream: z.boolean().nullish(),
  max_tokens: z.int().positive().nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  thinking: z.object({ type: z.string() }).nullish(),
  output_config: z.object({ format: z.unknown().optional() }).nullish().catch(null),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
})

/** Fields of a body, and the values of unserved ones that ask for nothing. */
export const messagesFields: KnownFields = {
  read: Object.keys(body.shape),
  neutral: {
    output_config: () => false,
    tool_choice: (choice) => isAutomatic.safeParse(choice).success,
  },
}

const isAutomatic = z.strictObject({ type: z.literal('auto'), disable_parallel_tool_use: z.literal(false).optional() })

/** Checks a body. Throws `wire_invalid_body`. */
export function readMessagesBody(raw: unknown): MessagesBody {
  const parsed = body.safeParse(raw)
  if (parsed.success) return parsed.data
  throw new WireError('wire_invalid_body', `Not a Messages request: ${describeIssue(parsed.error)}`, {
    cause: parsed.error,
  })
}
