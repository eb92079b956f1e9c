import type { JsonObject } from '@agentrl/spec'
import type { IllFormedCode, RepairCode, WarningCode } from './codes.ts'

/** A half-open range of the output in UTF-16 units. */
export interface CharSpan {
  readonly charStart: number
  readonly charEnd: number
}

/** One tool call. What the model wrote and what a client may be given are kept apart. */
export interface ParsedToolCall {
  /** The declared name. */
  readonly name: string
  /** The id that the model wrote, where the format has one (Kimi, Mistral), for example `functions.read:0`. */
  readonly id: string | null
  /** The arguments as JavaScript values: integers beyond 2^53 lose digits here and nowhere else. */
  readonly arguments: JsonObject
  /** The arguments as JSON text, to be sent to a client: literals, key order and spelling are the model's. */
  readonly argumentsText: string
  /** Why `argumentsText` is not what the model wrote; each code once, in the order met. Empty for a valid call. */
  readonly repairs: readonly RepairCode[]
  /** JSON pointers of the arguments that their schema refuses or misses. The call is returned as it is. */
  readonly schemaErrors: readonly string[]
  /** Where the call stands in the output, its own markers included. */
  readonly span: CharSpan
  /** Exactly what the model wrote there. */
  readonly sampledText: string
}

/** A region that meant to be a call and is not one. It is part of neither `text` nor `calls`. */
export interface IllFormedRegion {
  readonly code: IllFormedCode
  readonly span: CharSpan
  /** For people: what was met, cut to 200 characters. */
  readonly detail: string
}

/** What a model's output says. */
export interface ParsedOutput {
  /** Without surrounding white space. */
  readonly reasoning: string
  /** What is neither reasoning, call, ill-formed region nor end-of-turn marker; without surrounding white space. */
  readonly text: string
  readonly calls: readonly ParsedToolCall[]
  /** Whether anything was repaired. */
  readonly repaired: boolean
  readonly illFormed: readonly IllFormedRegion[]
  /** Each code once, in the order met. */
  readonly warnings: readonly WarningCode[]
  /** How often each repair was made. */
  readonly repairCounts: Readonly<Partial<Record<RepairCode, number>>>
}

/** What a stream parser says as soon as it is certain. */
export type ParseEvent =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly call: ParsedToolCall }
  | { readonly kind: 'ill-formed'; readonly region: IllFormedRegion }
