import type { JsonObject } from './json.ts'

/**
 * Messages in the shape that chat templates read. Protocol modules turn wire
 * bodies into these; templates and the message tree know nothing else.
 */

/** A piece of a message that has several. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }

/** A tool call inside an assistant message. */
export interface MessageToolCall {
  readonly id?: string
  readonly type: 'function'
  readonly function: {
    readonly name: string
    /** JSON text is canonical: it keeps `1.0`, big integers and the order of keys. An object is accepted. */
    readonly arguments: string | JsonObject
  }
}

export interface InputMessage {
  readonly role: 'system' | 'user'
  readonly content: string | readonly ContentPart[]
}

export interface ToolMessage {
  readonly role: 'tool'
  readonly content: string | readonly ContentPart[]
  readonly tool_call_id?: string
  readonly name?: string
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string | null
  readonly reasoning_content?: string
  readonly tool_calls?: readonly MessageToolCall[]
}

/** One message of a conversation. */
export type Message = InputMessage | ToolMessage | AssistantMessage

/** A tool that the client offers, in the OpenAI shape that templates expect. */
export interface ToolDefinition {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: JsonObject
  }
}
