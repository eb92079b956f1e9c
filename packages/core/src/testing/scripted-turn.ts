import type { JsonObject, Random } from '@agentrl/spec'

/** What the scripted engine plays: turns, and who decides which comes next. */

/**
 * How the JSON of a call is spoilt.
 *
 * - `raw-newline`: line breaks inside strings are not escaped. Repairable.
 * - `single-backslash`: a backslash before a letter that needs none is not doubled (`"\\d"` becomes `"\d"`). Repairable.
 * - `bare-word`: the last string has no quotes. Beyond repair.
 */
export type CallDamage = 'raw-newline' | 'single-backslash' | 'bare-word'

/** A tool call as the model writes it. */
export interface ScriptedToolCall {
  readonly name: string
  readonly arguments: JsonObject
  readonly damage?: CallDamage
}

/** One answer of the stand-in. An encoder writes it in the model's own format. */
export interface ScriptedTurn {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly ScriptedToolCall[]
  /** Written as it is, after text and calls: for calls that are broken on purpose. */
  readonly raw?: string
  /** `length`: never ends, so that `max_new_tokens` cuts it. Default `stop`. */
  readonly finish?: 'stop' | 'length'
  /** Probability of the choice that led to this turn; in (0, 1], default 1. */
  readonly probability?: number
  /** What the random choices of this turn depend on, besides the engine's seed. Default: conversation and turn. */
  readonly seedKey?: string
}

/** What a player knows when it is asked for a turn. */
export interface ScriptedContext {
  /** The whole prompt, control tokens included. */
  readonly promptText: string
  /** The prompt before its first assistant turn: system, tools, task. */
  readonly headText: string
  /** Assistant turns that the prompt holds. */
  readonly turnIndex: number
  /** `rid` without its turn: one for all turns of an attempt. */
  readonly conversationId: string
  readonly temperature: number
  /** Depends on the engine's seed, the conversation and the turn. */
  readonly random: Random
}

/** Decides what the stand-in answers. May throw: the call then gets HTTP 500. */
export type ScriptedPlayer = (context: ScriptedContext) => ScriptedTurn

/** Writes a turn in the format of a model. Ends in the end-of-turn token, an empty turn too. */
export type TurnEncoder = (turn: ScriptedTurn) => string
