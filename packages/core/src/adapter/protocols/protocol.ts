import type { AgentRlError, AssistantMessage, Message, ToolDefinition } from '@agentrl/spec'

/**
 * The contract of a wire protocol: how a client's body becomes messages, and
 * how a reply, a stream and an error look to it. A protocol knows no session,
 * no engine and no token; the server knows no protocol's field names.
 */

/** A request as every protocol says it. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly isStreaming: boolean
  /** The client's own bound on the reply; null if it names none. */
  readonly maxTokens: number | null
  /** Strings at which the client wants the text to end. They cut the wire text only. */
  readonly stopStrings: readonly string[]
  /** Sampling keys that the client sent. A training session ignores and counts them. */
  readonly sampling: ClientSampling
  /** Whether the client wants to see reasoning. What it does not get it can't send back. */
  readonly wantsReasoning: boolean
  /** A stream ends with token counts only if asked for (Chat); always true where the protocol always has them. */
  readonly wantsStreamUsage: boolean
  /** The body says that a sub-agent speaks. */
  readonly isMarkedSubAgent: boolean
  /** The client wants JSON of a schema of its own instead of text: a title, not a task. */
  readonly wantsStructuredOutput: boolean
  /** Fields that we can't serve and left out, by name: counted, never silent. */
  readonly droppedFields: readonly string[]
}

/** Sampling keys as clients name them; undefined where the client left one out. */
export interface ClientSampling {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly minP?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly repetitionPenalty?: number
  readonly seed?: number
}

/** A reply as every protocol says it. */
export interface ChatReply {
  /** Unique; `[A-Za-z0-9_-]+`. */
  readonly id: string
  readonly model: string
  /** Arguments of calls are valid JSON text. */
  readonly message: AssistantMessage
  readonly finish: 'stop' | 'tool_calls' | 'length' | 'stop_string'
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number; readonly cachedTokens: number }
  /** Seconds since the epoch. */
  readonly createdAt: number
}

/** One server-sent event. */
export interface StreamEvent {
  readonly event?: string
  readonly data: string
}

export interface Protocol {
  readonly name: string
  /** Where clients post. */
  readonly path: string
  /** Where clients ask for a token count; null if the protocol has no such call. */
  readonly countTokensPath: string | null
  /** Throws `WireError` (`wire_invalid_body`, `wire_unsupported`). */
  readRequest(body: unknown): ChatRequest
  writeReply(reply: ChatReply): unknown
  writeStream(reply: ChatReply, request: ChatRequest): Iterable<StreamEvent>
  /** Keeps a stream alive while the engine samples. */
  readonly streamPing: StreamEvent | { readonly comment: string }
  writeError(error: AgentRlError, status: number): unknown
  writeStreamError(error: AgentRlError, status: number): StreamEvent
  writeTokenCount(tokens: number): unknown
}
