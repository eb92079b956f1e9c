import { isAgentRlError, type Message, type ToolDefinition, ValueError } from '@agentrl/spec'
import { sourceOf } from './json-source.ts'
import { parseLosslessJson } from './lossless-json.ts'
import { markWhole } from './python/text.ts'
import { Dict, Float, PythonObject, type Str, Text, Tuple, Undefined, type Value } from './python/values.ts'

/**
 * What a template is given: plain JavaScript values, messages and tools turned
 * into values with Python's semantics.
 *
 * A conversion can mark strings. Marks say "these characters came from a
 * variable" and survive everything a template does; control-tokens.ts reads
 * them. Left unmarked are the names of a message's own members, and its role
 * where it is a known one, since some templates build control tokens out of it.
 */
export interface ConversionOptions {
  /** Marks every string, keys of objects too. Default false. */
  readonly isMarked?: boolean
}

/** A value that a template can work on. Opaque: made by `toTemplateValue`, `parseLosslessJson` and `templateMessages`. */
export type TemplateValue = Value

/**
 * A plain value as a template value: objects and maps become dicts in the order of their keys, integers stay
 * integers, other numbers are floats, members that are undefined are left out. Values that are converted already
 * pass through. A JavaScript number can't say whether it was written `1` or `1.0`: read JSON text with
 * `parseLosslessJson` where that matters. Throws ValueError `value_invalid` for functions, symbols, class instances, and
 * what nests deeper than 1000 (a cycle does).
 */
export function toTemplateValue(value: unknown, options: ConversionOptions = {}): TemplateValue {
  return convert(value, options, 0)
}

const maxDepth = 1000

function convert(value: unknown, options: ConversionOptions, depth: number): Value {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') return strOf(value, options)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : new Float(value)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (depth > maxDepth)
    throw new ValueError('value_invalid', `A template's values nest at most ${maxDepth} levels deep`)
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : convert(item, options, depth + 1)))
  if (isConverted(value)) return value
  if (value instanceof Map) return dictFrom(value, options, depth + 1)
  if (isPlainObject(value)) {
    const source = sourceOf(value)
    return source === null ? dictFrom(Object.entries(value), options, depth + 1) : parseLosslessJson(source, options)
  }
  throw new ValueError('value_invalid', `A template can't be given a value of type ${describe(value)}`)
}

function strOf(text: string, { isMarked = false }: ConversionOptions): Str {
  return isMarked ? markWhole(text) : text
}

function isConverted(value: unknown): value is Value {
  return (
    value instanceof Dict ||
    value instanceof Text ||
    value instanceof Float ||
    value instanceof Tuple ||
    value instanceof Undefined ||
    value instanceof PythonObject
  )
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

function describe(value: unknown): string {
  return typeof value === 'object' && value !== null ? (value.constructor?.name ?? 'object') : typeof value
}

function dictFrom(entries: Iterable<readonly [unknown, unknown]>, options: ConversionOptions, depth: number): Dict {
  const dict = new Dict()
  for (const [key, value] of entries) {
    if (value !== undefined) dict.set(convert(key, options, depth), convert(value, options, depth))
  }
  return dict
}

const knownRoles: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

export interface TemplateMessages {
  /** One dict for each message. */
  readonly messages: readonly TemplateValue[]
  /** Tool calls whose arguments are text that is no JSON object; the text stays as it is. */
  readonly unparsedArguments: number
}

/**
 * Messages as templates expect them: every member under its own name and in its order, and a tool call's `arguments`,
 * where they are the JSON text of an object, as that object with its number literals and key order.
 */
export function templateMessages(messages: readonly Message[], options: ConversionOptions = {}): TemplateMessages {
  let unparsedArguments = 0
  const converted = messages.map((message) => {
    const dict = new Dict()
    for (const [key, value] of Object.entries(message)) {
      if (value === undefined) continue
      if (key === 'role') dict.set(key, roleValue(message.role, options))
      else if (key === 'tool_calls')
        dict.set(
          key,
          toolCalls(value, options, () => (unparsedArguments += 1)),
        )
      else dict.set(key, toTemplateValue(value, options))
    }
    return dict
  })
  return { messages: converted, unparsedArguments }
}

function roleValue(role: string, options: ConversionOptions): Value {
  return knownRoles.has(role) ? role : strOf(role, options)
}

/** The tool definitions as template values. */
export function templateTools(tools: readonly ToolDefinition[], options: ConversionOptions = {}): TemplateValue {
  return tools.map((tool) => toTemplateValue(tool, options))
}

/**
 * A member of a converted object; undefined where there is none or the value is no object. With it, tools can be taken
 * out of a request body that `parseLosslessJson` read, so that their schemas keep number literals and key order:
 * `templateMember(parseLosslessJson(body, { isMarked: true }), 'tools')` is a value for the variable `tools`.
 */
export function templateMember(value: TemplateValue, key: string): TemplateValue | undefined {
  return value instanceof Dict ? value.getText(key) : undefined
}

function toolCalls(calls: unknown, options: ConversionOptions, countUnparsed: () => void): Value {
  const converted = toTemplateValue(calls, options)
  if (!Array.isArray(converted)) return converted
  for (const call of converted) {
    const called = call instanceof Dict ? call.getText('function') : undefined
    const target = called instanceof Dict ? called : call instanceof Dict ? call : null
    const given = target?.getText('arguments')
    if (target === null || (typeof given !== 'string' && !(given instanceof Text))) continue
    const parsed = parsedObject(typeof given === 'string' ? given : given.text, options)
    if (parsed === null) countUnparsed()
    else target.set('arguments', parsed)
  }
  return converted
}

function parsedObject(text: string, options: ConversionOptions): Dict | null {
  try {
    const parsed = parseLosslessJson(text, options)
    return parsed instanceof Dict ? parsed : null
  } catch (error) {
    if (isAgentRlError(error)) return null
    throw error
  }
}
