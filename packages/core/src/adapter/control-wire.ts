import { groupId, rolloutId, type SamplingParams, type SessionId, sessionId, WireError } from '@agentrl/spec'
import { z } from 'zod'
import type { LinearizeOptions } from '../alignment/linearize.ts'
import { describeIssue } from '../wire-issue.ts'
import type { SessionOptions } from './session-options.ts'

/** Bodies of the control calls. */

const policy = z.enum(['train', 'context', 'drop']).optional()

const openBody = z.object({
  label: z.string().optional(),
  mode: z.enum(['train', 'eval']).optional(),
  sampling_defaults: z
    .object({
      temperature: z.number().min(0).optional(),
      top_p: z.number().gt(0).max(1).optional(),
      top_k: z.int().optional(),
      min_p: z.number().min(0).max(1).optional(),
    })
    .optional(),
  max_context_tokens: z.int().positive().optional(),
  max_generation_tokens: z.int().positive().optional(),
  turn_cap: z.int().positive().optional(),
  allowed_tools: z.array(z.string()).optional(),
  branch_policies: z
    .strictObject({ main: policy, sub_agent: policy, compaction: policy, auxiliary: policy })
    .optional(),
  ill_formed_turns: z.enum(['train', 'context']).optional(),
  tool_call_repair: z.enum(['conservative', 'off']).optional(),
})

/** Reads the body of `open_session`. Throws `wire_invalid_body`. */
export function readOpenBody(raw: unknown): SessionOptions & { readonly label?: string } {
  const body = check(openBody, raw, 'open_session')
  const { temperature, top_p: topP, top_k: topK, min_p: minP } = body.sampling_defaults ?? {}
  return defined({
    label: body.label,
    mode: body.mode,
    sampling: defined<Partial<SamplingParams>>({ temperature, topP, topK, minP }),
    maxContextTokens: body.max_context_tokens,
    maxGenerationTokens: body.max_generation_tokens,
    turnCap: body.turn_cap,
    allowedTools: body.allowed_tools,
    branchPolicies: body.branch_policies === undefined ? undefined : defined(body.branch_policies),
    illFormedTurns: body.ill_formed_turns,
    toolCallRepair: body.tool_call_repair,
  })
}

const finishBody = z.object({
  session_id: z.string(),
  reward: z.number().nullish(),
  group_id: z.string().optional(),
  rollout_id: z.string().optional(),
  max_sample_tokens: z.int().nonnegative().optional(),
})

/** Reads the body of `finish_session` and `drop_session`. Throws `wire_invalid_body`. */
export function readFinishBody(raw: unknown): { readonly session: SessionId; readonly options: LinearizeOptions } {
  const body = check(finishBody, raw, 'finish_session')
  return {
    session: sessionId(body.session_id),
    options: {
      reward: body.reward ?? null,
      ...defined({
        groupId: body.group_id === undefined ? undefined : groupId(body.group_id),
        rolloutId: body.rollout_id === undefined ? undefined : rolloutId(body.rollout_id),
        maxSampleTokens: body.max_sample_tokens,
      }),
    },
  }
}

function check<Schema extends z.ZodType>(schema: Schema, raw: unknown, call: string): z.infer<Schema> {
  const parsed = schema.safeParse(raw)
  if (parsed.success) return parsed.data
  throw new WireError('wire_invalid_body', `Not a body of ${call}: ${describeIssue(parsed.error)}`, {
    cause: parsed.error,
  })
}

type Defined<Fields> = { [Key in keyof Fields]: Exclude<Fields[Key], undefined> }

/** The fields that have a value. */
function defined<Fields extends object>(fields: { [Key in keyof Fields]: Fields[Key] | undefined }): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>
}
