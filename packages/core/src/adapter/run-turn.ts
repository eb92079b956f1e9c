import {
  type AssistantMessage,
  type Clock,
  type Engine,
  EngineError,
  type EngineReply,
  type EngineRequest,
  isAgentRlError,
  type Logger,
  type MessageToolCall,
  type TokenIds,
  type ToolDefinition,
  type Turn,
} from '@agentrl/spec'
import { type ParsedOutput, parseModelOutput, type ReasoningFormat, type ToolCallFormat } from '@agentrl/tool-calls'
import type { Renderer } from '../render/renderer.ts'
import type { Tokenizer } from '../render/tokenizer.ts'
import { replyBudget } from './overflow.ts'
import type { ChatReply, ChatRequest } from './protocols/protocol.ts'
import { restoreCallOrder } from './restore-call-order.ts'
import type { Session } from './session.ts'
import { effectiveSampling } from './session-options.ts'

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
export interface TurnParts {
  readonly engine: Engine
  readonly tokenizer: Tokenizer
  readonly renderer: Renderer
  readonly stopTokenIds: readonly number[]
  readonly toolCallFormat: ToolCallFormat
  readonly reasoningFormat: ReasoningFormat
  /** Calls made again after a retryable failure. */
  readonly engineRetries: number
  readonly clock: Clock
  readonly newId: () => string
  readonly logger: Logger
}

export async function runTurn(
  session: Session,
  request: ChatRequest,
  parts: TurnParts,
  clientSignal: AbortSignal,
): Promise<ChatReply> {
  return session.run(async (turnNumber, sessionSignal) => {
    const prompt = await buildPrompt(session, request, parts)
    const { sampling, ignored } = effectiveSampling(session.options, request.sampling)
    for (const key of ignored) session.counters.add(`sampling_ignored.${key}`)
    for (const field of request.droppedFields) session.counters.add(`field_dropped.${field}`)
    const sampled = await sample(
      {
        requestId: `${session.id}_t${turnNumber}`,
        routingKey: session.id,
        promptIds: prompt.ids,
        sampling,
        maxNewTokens: prompt.maxNewTokens,
        stopTokenIds: parts.stopTokenIds,
      },
      { parts, session, signal: AbortSignal.any([clientSignal, sessionSignal]) },
    )
    const parsed = await parseOutput(sampled, prompt, request, parts)
    countParsed(session, parsed)
    const { message, finish } = toWireMessage(parsed, sampled.finishReason, request, parts.newId)
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
    session.recordTurn({
      turn,
      promptMessages: prompt.messages,
      responseMessage: message,
      head: prompt.head,
      isDisconnected: clientSignal.aborted,
    })
    return {
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
  })
}

/** How many tokens the prompt of a request has. */
export async function countPromptTokens(session: Session, request: ChatRequest, parts: TurnParts): Promise<number> {
  const rendered = await parts.renderer.renderPrompt({
    messages: restoreCallOrder(request.messages),
    tools: allowedTools(session, request),
  })
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

async function buildPrompt(session: Session, request: ChatRequest, parts: TurnParts): Promise<Prompt> {
  const messages = restoreCallOrder(request.messages)
  const tools = allowedTools(session, request)
  const rendered = await parts.renderer.renderPrompt({ messages, tools })
  session.counters.add('control_token_in_content', rendered.protectedTokens)
  const maxNewTokens = replyBudget({
    promptTokens: rendered.ids.length,
    maxContextTokens: session.options.maxContextTokens,
    maxGenerationTokens: session.options.maxGenerationTokens,
    clientMaxTokens: request.maxTokens,
  })
  return {
    messages,
    tools,
    head: JSON.stringify(tools),
    ids: rendered.ids,
    opensReasoning: rendered.opensReasoning,
    maxNewTokens,
  }
}

function allowedTools(session: Session, request: ChatRequest): readonly ToolDefinition[] {
  const allowed = session.options.allowedTools
  if (allowed === null) return request.tools
  const kept = request.tools.filter((tool) => allowed.includes(tool.function.name))
  session.counters.add('tool_not_allowed', request.tools.length - kept.length)
  return kept
}

/** Samples once. A call that failed is not a sample: it may be made again, under a new id, within the budget. */
async function sample(
  request: EngineRequest,
  context: { readonly parts: TurnParts; readonly session: Session; readonly signal: AbortSignal },
): Promise<EngineReply> {
  const { parts, session, signal } = context
  for (let attempt = 0; ; attempt += 1) {
    const requestId = attempt === 0 ? request.requestId : `${request.requestId}_r${attempt}`
    try {
      const reply = await parts.engine.generate({ ...request, requestId }, { signal })
      session.engineFailure = null
      return reply
    } catch (error) {
      // A refused request sampled nothing; of any other failure we can't know.
      const isKnownEmpty = isAgentRlError(error) && error.code === 'engine_rejected_request'
      if (!isKnownEmpty) session.trajectory.recordLostCall()
      const isRetryable = isAgentRlError(error) && error.isRetryable && !signal.aborted
      if (!isRetryable || attempt >= parts.engineRetries) {
        if (error instanceof EngineError) session.engineFailure = error
        throw error
      }
      session.counters.add(`engine_retry.${error.code}`)
      parts.logger.warn('engine call failed, trying again', { requestId, code: error.code, message: error.message })
    }
  }
}

async function parseOutput(
  sampled: EngineReply,
  prompt: Prompt,
  request: ChatRequest,
  parts: TurnParts,
): Promise<ParsedOutput> {
  const ids = sampled.outputIds
  const last = ids.at(-1)
  const endsInStop = sampled.finishReason === 'stop' && last !== undefined && parts.stopTokenIds.includes(last)
  const text = await parts.tokenizer.decode(endsInStop ? ids.slice(0, -1) : ids)
  return parseModelOutput(text, {
    format: parts.toolCallFormat,
    reasoning: parts.reasoningFormat,
    thinking: prompt.opensReasoning,
    tools: prompt.tools,
    finishReason: sampled.finishReason === 'length' ? 'length' : 'stop',
  })
}

function countParsed(session: Session, parsed: ParsedOutput): void {
  for (const call of parsed.calls) for (const code of call.repairs) session.counters.add(`tool_call_repaired.${code}`)
  for (const region of parsed.illFormed) session.counters.add(`tool_call_ill_formed.${region.code}`)
}

/**
 * The reply as the client gets it, which is also what it will send back: the
 * tree records this form. White space alone is no text; a reply whose only
 * content was ill-formed shows that as text, so that the client sees what the
 * model tried.
 */
function toWireMessage(
  parsed: ParsedOutput,
  finishReason: EngineReply['finishReason'],
  request: ChatRequest,
  newId: () => string,
): { message: AssistantMessage; finish: ChatReply['finish'] } {
  const calls = parsed.calls.map(
    (call): MessageToolCall => ({
      id: `call_${newId()}`,
      type: 'function',
      function: { name: call.name, arguments: call.argumentsText },
    }),
  )
  const cut = cutAtStopString(parsed.text, request.stopStrings)
  const isStopString = cut !== parsed.text
  const shown = cut.trim() !== '' || calls.length > 0 ? cut : parsed.illFormed.map((region) => region.text).join('\n')
  const hasReasoning = request.wantsReasoning && parsed.reasoning.trim() !== ''
  const message: AssistantMessage = {
    role: 'assistant',
    content: shown.trim() === '' ? null : shown,
    ...(hasReasoning ? { reasoning_content: parsed.reasoning } : {}),
    ...(calls.length === 0 || isStopString ? {} : { tool_calls: calls }),
  }
  if (finishReason === 'length') return { message, finish: 'length' }
  if (isStopString) return { message, finish: 'stop_string' }
  return { message, finish: calls.length > 0 ? 'tool_calls' : 'stop' }
}

function cutAtStopString(text: string, stopStrings: readonly string[]): string {
  const cuts = stopStrings.map((stop) => text.indexOf(stop)).filter((index) => index >= 0)
  return cuts.length === 0 ? text : text.slice(0, Math.min(...cuts))
}
