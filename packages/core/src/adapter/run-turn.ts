import type { AssistantMessage, EngineReply, TokenIds, ToolDefinition, Turn } from '@agentrl/spec'
import { type ParsedOutput, type ParseOptions, parseModelOutput } from '@agentrl/tool-calls'
import type { RenderedPrompt, RenderRequest } from '../render/renderer.ts'
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
  return session.run(async (turnNumber, sessionSignal) => {
    const prompt = await buildPrompt(session, request, parts)
    const { sampling, ignored } = effectiveSampling(session.options, request.sampling)
    for (const key of ignored) session.counters.add(`sampling_ignored.${key}`)
    for (const field of request.droppedFields) session.counters.add(`field_dropped.${field}`)
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
    const rawText = await decodeOutput(sampled, parts)
    const parsing: ParseOptions = {
      format: parts.toolCallFormat,
      reasoning: parts.reasoningFormat,
      thinking: prompt.opensReasoning,
      tools: prompt.tools,
      finishReason: sampled.finishReason,
    }
    const parsed = passUndeclaredCalls(parseModelOutput(rawText, parsing), { rawText, parsing })
    countParsed(session, parsed)
    const { finishReason } = sampled
    const { message, finish } = toWireMessage(parsed, { rawText, finishReason, request, newId: parts.newId })
    rememberCallIds(session, parsed, message)
    const turn: Turn = {
      promptIds: prompt.ids,
      outputIds: sampled.outputIds,
      outputLogprobs: sampled.outputLogprobs,
      finishReason: sampled.finishReason,
      illFormed: parsed.illFormed.length > 0,
      sampling: { ...sampling, logprobMode: parts.engine.logprobMode },
      ...(sampled.weightSpans === undefined ? {} : { weightSpans: sampled.weightSpans }),
      ...(sampled.routedExperts === undefined ? {} : { routedExperts: sampled.routedExperts }),
    }
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
    const decode = async (ids: Int32Array) => parts.tokenizer.decode(ids)
    await session.recordTurn({ turn, conversation: prompt, request, reply, client, decode })
    return reply
  })
}

/** How many tokens the prompt of a request has. */
export async function countPromptTokens(session: Session, request: ChatRequest, parts: TurnParts): Promise<number> {
  const messages = withModelCallIds(restoreCallOrder(request.messages), session.modelCallIds)
  const rendered = await parts.renderer.renderPrompt({ messages, tools: allowedTools(session, request) })
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
  const shown = { messages: withModelCallIds(messages, session.modelCallIds), tools }
  const inherited = await inheritOrNull(session, shown, { ...parts, head, messages })
  const rendered = inherited ?? (await parts.renderer.renderPrompt(shown))
  session.counters.add('control_token_in_content', rendered.protectedTokens)
  session.counters.add('system_message_as_user', rendered.systemMessagesAsUser)
  const maxNewTokens = replyBudget({
    promptTokens: rendered.ids.length,
    maxContextTokens: session.options.maxContextTokens,
    maxGenerationTokens: session.options.maxGenerationTokens,
    clientMaxTokens: request.maxTokens,
  })
  const isThinking = opensReasoning(rendered.tail, parts.reasoningFormat)
  return { messages, tools, head, ids: rendered.ids, opensReasoning: isThinking, maxNewTokens }
}

/** Null: nothing to inherit, or not here; the latter is counted. */
async function inheritOrNull(
  session: Session,
  shown: RenderRequest,
  { head, messages, ...parts }: TurnParts & Pick<Prompt, 'messages' | 'head'>,
): Promise<RenderedPrompt | null> {
  if (session.trajectory.alignment !== 'inherit') return null
  const { turn, messageCount } = session.trajectory.findInheritance(messages, head)
  if (turn === null) return null
  const prompt = await inheritPrompt({ turn, ...shown, inheritedMessages: messageCount }, parts)
  if (prompt === null) session.counters.add('inherit_not_possible')
  return prompt
}

function allowedTools(session: Session, request: ChatRequest): readonly ToolDefinition[] {
  const allowed = session.options.allowedTools
  if (allowed === null) return request.tools
  const kept = request.tools.filter((tool) => allowed.includes(tool.function.name))
  session.counters.add('tool_not_allowed', request.tools.length - kept.length)
  return kept
}

/** The text of the sampled ids, without the stop token. */
async function decodeOutput({ outputIds }: EngineReply, parts: TurnParts): Promise<string> {
  const isStopped = stopTokenOf(outputIds, parts.stopTokenIds) !== null
  return parts.tokenizer.decode(isStopped ? outputIds.slice(0, -1) : outputIds)
}

function rememberCallIds(session: Session, parsed: ParsedOutput, { tool_calls: calls = [] }: AssistantMessage): void {
  for (const [index, { id }] of calls.entries()) {
    const modelId = parsed.calls[index]?.id ?? null
    if (id !== undefined && modelId !== null) session.modelCallIds.set(id, modelId)
  }
}

function countParsed(session: Session, parsed: ParsedOutput): void {
  for (const call of parsed.calls) for (const code of call.repairs) session.counters.add(`tool_call_repaired.${code}`)
  for (const region of parsed.illFormed) session.counters.add(`tool_call_ill_formed.${region.code}`)
}
