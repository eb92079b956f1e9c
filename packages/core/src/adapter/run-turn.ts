import {
  type AssistantMessage,
  type EngineReply,
  isAgentRlError,
  type TokenIds,
  type ToolDefinition,
  type Turn,
} from '@agentrl/spec'
import { type ParsedOutput, type ParseOptions, parseModelOutput } from '@agentrl/tool-calls'
import type { RenderedPrompt } from '../render/renderer.ts'
import { inheritPrompt, stopTokenOf } from './inherit-prompt.ts'
import { withModelCallIds } from './model-call-ids.ts'
import { opensReasoning } from './opens-reasoning.ts'
import { replyBudget } from './overflow.ts'
import type { ChatReply, ChatRequest } from './protocols/protocol.ts'
import { restoreCallOrder } from './restore-call-order.ts'
import { sampleTurn } from './sample-turn.ts'
import type { Session } from './session.ts'
import { effectiveSampling } from './session-options.ts'
import type { TurnClient, TurnConversation } from './turn-context.ts'
import type { TurnParts } from './turn-parts.ts'
import { passUndeclaredCalls } from './undeclared-calls.ts'
import { toWireMessage } from './wire-message.ts'

/**
 * One turn, from a client's request to a recorded reply:
 *
 *   messages ─ render ─▶ prompt ids ─ engine ─▶ sampled ids ─ decode ─▶ text
 *       ▲                     └──────── Turn (exact) ────┘               │
 *       └─── tree ◀── record ◀──── reply as the client gets it ◀─ parse ─┘
 *
 * What is recorded for training is the engine's ids and log-probabilities; what
 * the client reads is decoded from them, and repaired where a call needs it.
 */
export async function runTurn(
  session: Session,
  request: ChatRequest,
  parts: TurnParts,
  client: TurnClient,
): Promise<ChatReply> {
  const replayed = session.replayUndelivered(() => conversationOf(session, request, parts), client.signal)
  if (replayed !== null) return replayed
  const prepare = () => buildPrompt(session, request, parts)
  return session.run(prepare, async (prompt, turnNumber, sessionSignal) => {
    const { sampling, ignored } = effectiveSampling(session.options, request.sampling)
    for (const key of ignored) session.counters.add(`sampling_ignored.${key}`)
    for (const field of request.droppedFields) session.counters.addNamed('field_dropped', field)
    const sampled = await sampleTurn(
      {
        requestId: `${session.handle}_t${turnNumber}`,
        routingKey: session.handle,
        promptIds: prompt.ids,
        sampling,
        maxNewTokens: prompt.maxNewTokens,
        stopTokenIds: parts.stopTokenIds,
        knownExpertRows: session.trajectory.knownExpertRows({
          promptMessages: prompt.messages,
          head: prompt.head,
          promptIds: prompt.ids,
        }),
      },
      { parts, session, signal: AbortSignal.any([client.signal, sessionSignal]) },
    )
    const read = await whileSampledCounts(session, sampled, async () => {
      const { reply, illFormed } = await readReply(sampled, { session, request, prompt, parts })
      const turn: Turn = {
        promptIds: prompt.ids,
        outputIds: sampled.outputIds,
        outputLogprobs: sampled.outputLogprobs,
        finishReason: sampled.finishReason,
        illFormed,
        sampling: { ...sampling, logprobMode: parts.engine.logprobMode },
        ...(sampled.weightSpans === undefined ? {} : { weightSpans: sampled.weightSpans }),
        ...(sampled.routedExperts === undefined ? {} : { routedExperts: sampled.routedExperts }),
      }
      return { reply, recorded: session.recordTurn({ turn, conversation: prompt, request, reply, client }) }
    })
    await read.recorded.explain(async (ids) => parts.tokenizer.decode(ids))
    return read.reply
  })
}

/** Between the engine's answer and the record of the turn nothing may get lost: if reading it fails, its tokens are counted. */
async function whileSampledCounts<Result>(
  session: Session,
  { outputIds }: EngineReply,
  task: () => Promise<Result>,
): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    session.trajectory.recordDiscarded('disconnected', outputIds.length)
    session.counters.add(`reply_unreadable.${isAgentRlError(error) ? error.code : 'unforeseen'}`)
    throw error
  }
}

/** What the client gets of the sampled ids: decoded, parsed, and repaired where a call needs it. */
async function readReply(
  sampled: EngineReply,
  context: {
    readonly session: Session
    readonly request: ChatRequest
    readonly prompt: Prompt
    readonly parts: TurnParts
  },
): Promise<{ readonly reply: ChatReply; readonly illFormed: boolean }> {
  const { session, request, prompt, parts } = context
  const { finishReason } = sampled
  const isStopped = stopTokenOf(sampled.outputIds, parts.stopTokenIds) !== null
  if (finishReason === 'stop' && !isStopped) session.counters.add('stop_token_unlisted')
  const rawText = await parts.tokenizer.decode(isStopped ? sampled.outputIds.slice(0, -1) : sampled.outputIds)
  const parsing: ParseOptions = {
    format: parts.toolCallFormat,
    reasoning: parts.reasoningFormat,
    thinking: prompt.opensReasoning,
    tools: prompt.tools,
    finishReason,
    repair: session.options.toolCallRepair,
  }
  const parsed = passUndeclaredCalls(parseModelOutput(rawText, parsing), { rawText, parsing })
  countParsed(session, parsed)
  const { message, finish, isStopString } = toWireMessage(parsed, {
    rawText,
    finishReason,
    request,
    newId: parts.newId,
  })
  if (isStopString) session.counters.add('stop_string_cut')
  rememberCallIds(session, parsed, message)
  const reply: ChatReply = {
    id: `msg_${parts.newId()}`,
    model: request.model,
    message,
    finish,
    usage: {
      promptTokens: prompt.ids.length,
      completionTokens: sampled.outputIds.length,
      cachedTokens: sampled.cachedTokens ?? 0,
    },
    createdAt: Math.floor(parts.clock.now() / 1000),
  }
  return { reply, illFormed: parsed.illFormed.length > 0 }
}

/** How many tokens the prompt of a request has: of the prompt that a turn would have, inherited ids included. */
export async function countPromptTokens(session: Session, request: ChatRequest, parts: TurnParts): Promise<number> {
  const { rendered } = await renderConversation(session, conversationOf(session, request, parts), parts)
  return rendered.ids.length
}

interface Prompt {
  readonly messages: ChatRequest['messages']
  readonly tools: readonly ToolDefinition[]
  readonly head: string
  readonly ids: TokenIds
  readonly opensReasoning: boolean
  readonly maxNewTokens: number
}

function conversationOf(session: Session, request: ChatRequest, { toolHeads }: TurnParts): TurnConversation {
  const messages = restoreCallOrder(request.messages)
  return { messages, ...toolHeads.of(allowedTools(session, request)) }
}

async function buildPrompt(session: Session, request: ChatRequest, parts: TurnParts): Promise<Prompt> {
  const { messages, tools, head } = conversationOf(session, request, parts)
  const { rendered, isRefused } = await renderConversation(session, { messages, tools, head }, parts)
  if (isRefused) session.counters.add('inherit_not_possible')
  // A client that begins the reply itself: what it wrote stands as a turn of its own.
  if (messages.at(-1)?.role === 'assistant') session.counters.add('assistant_prefill')
  session.counters.add('control_token_in_content', rendered.protectedTokens)
  session.counters.add('system_message_as_user', rendered.systemMessagesAsUser)
  session.counters.add('image_as_text', rendered.imagesAsText)
  const maxNewTokens = replyBudget({
    promptTokens: rendered.ids.length,
    maxContextTokens: session.options.maxContextTokens,
    maxGenerationTokens: session.options.maxGenerationTokens,
    clientMaxTokens: request.maxTokens,
  })
  const isThinking = opensReasoning(rendered.tail, parts.reasoningFormat)
  return { messages, tools, head, ids: rendered.ids, opensReasoning: isThinking, maxNewTokens }
}

interface RenderedConversation {
  readonly rendered: RenderedPrompt
  /** There was a turn to go on from, but the template can't be continued there. */
  readonly isRefused: boolean
}

/** The prompt that goes on from an earlier turn where there is one; else the whole conversation, rendered. */
async function renderConversation(
  { trajectory, modelCallIds }: Session,
  { messages, tools, head }: TurnConversation,
  parts: TurnParts,
): Promise<RenderedConversation> {
  const shown = { messages: withModelCallIds(messages, modelCallIds), tools }
  const isInheriting = trajectory.alignment === 'inherit'
  const { turn, messageCount } = isInheriting ? trajectory.findInheritance(messages, head) : nothingInherited
  const inherited =
    turn === null ? null : await inheritPrompt({ turn, ...shown, inheritedMessages: messageCount }, parts)
  if (inherited !== null) return { rendered: inherited, isRefused: false }
  return { rendered: await parts.renderer.renderPrompt(shown), isRefused: turn !== null }
}

const nothingInherited = { turn: null, messageCount: 0 } as const

function allowedTools(session: Session, request: ChatRequest): readonly ToolDefinition[] {
  const allowed = session.options.allowedTools
  if (allowed === null) return request.tools
  const kept = request.tools.filter((tool) => allowed.includes(tool.function.name))
  session.counters.add('tool_not_allowed', request.tools.length - kept.length)
  return kept
}

function rememberCallIds(session: Session, parsed: ParsedOutput, { tool_calls: calls = [] }: AssistantMessage): void {
  for (const [index, { id }] of calls.entries()) {
    const modelId = parsed.calls[index]?.id ?? null
    if (id !== undefined && modelId !== null) session.modelCallIds.set(id, modelId)
  }
}

function countParsed(session: Session, parsed: ParsedOutput): void {
  for (const [code, count] of Object.entries(parsed.repairCounts))
    session.counters.add(`tool_call_repaired.${code}`, count)
  for (const region of parsed.illFormed) session.counters.add(`tool_call_ill_formed.${region.code}`)
  for (const code of parsed.warnings) session.counters.add(`tool_call_warning.${code}`)
  session.counters.add('tool_call_schema_error', parsed.calls.filter((call) => call.schemaErrors.length > 0).length)
}
