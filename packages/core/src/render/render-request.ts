import type { Message, ToolDefinition } from '@agentrl/spec'

/** What a prompt is rendered from. */
export interface RenderRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
}

export interface SuffixRequest extends RenderRequest {
  /** Messages from the start on that sampled ids account for; the last of them is the inherited reply. */
  readonly inheritedMessages: number
  /** The stop id that the inherited reply ends in; null if it was cut. */
  readonly stopTokenId: number | null
}
