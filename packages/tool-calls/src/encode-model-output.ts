import { excerpt, type JsonObject, ValueError } from '@agentrl/spec'
import { isWellFormed } from './decode-arguments.ts'
import type { EncodableCall } from './dialect.ts'
import { maxDepth } from './json-scanner.ts'
import { countKeys, parseJson } from './read-json.ts'
import { findReasoningFormat, type ReasoningFormatName } from './reasoning-formats.ts'
import { isJsonObject } from './schema.ts'
import { findToolCallFormat, type ToolCallFormatName } from './tool-call-formats.ts'

/** A call to be written as a model would write it. */
export interface ToolCallToEncode {
  readonly name: string
  /** JSON text of an object, kept as it is where the format carries JSON; or the object. */
  readonly arguments: string | JsonObject
  /** For formats that write one. */
  readonly id?: string
}

/** What a model says in one turn. */
export interface OutputToEncode {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly ToolCallToEncode[]
}

export interface EncodeOptions {
  readonly format: ToolCallFormatName
  /** Default: that of the models that use `format`. */
  readonly reasoning?: ReasoningFormatName
  /** Whether the prompt ended with reasoning open, so that the output starts inside it. Default false. */
  readonly thinking?: boolean
}

/**
 * The text that a model of a format samples to say something: what
 * `parseModelOutput` reads back. For scripted engines and tests.
 *
 * Formats without escapes (the XML dialects) can't write every string; what
 * they can't write reads back as ill-formed, never as another call. Throws
 * `value_invalid` for an unknown format, for arguments that are no object, and for such as are nested over 512 deep.
 */
export function encodeModelOutput(output: OutputToEncode, options: EncodeOptions): string {
  const { dialect, reasoning: defaultReasoning } = findToolCallFormat(options.format)
  const { tags } = findReasoningFormat(options.reasoning ?? defaultReasoning)
  const calls = (output.calls ?? []).map(readCall)
  const reasoning = output.reasoning ?? ''
  const isOpen = options.thinking === true
  const hasTags = tags !== null && (reasoning !== '' || isOpen)
  const thought = hasTags ? `${isOpen ? '' : `${tags.open}\n`}${reasoning}\n${tags.close}\n\n` : ''
  return thought + dialect.encode({ reasoning, text: output.text ?? '', calls })
}

/** The text of calls alone. */
export function encodeToolCalls(calls: readonly ToolCallToEncode[], options: EncodeOptions): string {
  return encodeModelOutput({ calls }, options)
}

function readCall(call: ToolCallToEncode): EncodableCall {
  const argumentsText = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
  const value = parseJson(argumentsText)
  if (Number.isNaN(countKeys(value, maxDepth))) {
    throw new ValueError('value_invalid', `Arguments are nested at most ${maxDepth} deep`, {
      details: { name: call.name },
    })
  }
  if (!isJsonObject(value) || !isWellFormed(value, argumentsText)) {
    throw new ValueError('value_invalid', `Arguments are a JSON object; found "${excerpt(argumentsText)}"`, {
      details: { name: call.name },
    })
  }
  return { name: call.name, argumentsText, ...(call.id === undefined ? {} : { id: call.id }) }
}
