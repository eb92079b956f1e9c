import type { Message, ToolDefinition } from '@agentrl/spec'
import type { RequestHeader } from './branch-role.ts'

/** A request as the message tree knows it. */
export interface TurnConversation {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  /** Names what stands before the messages: another head is another tree. */
  readonly head: string
}

/** Who sent a request. */
export interface TurnClient {
  /** Aborts when the client is gone before it has the whole reply. */
  readonly signal: AbortSignal
  readonly header: RequestHeader
}
