/// <reference lib="es2024.string" />
import { excerpt, type JsonObject, type JsonValue } from '@agentrl/spec'
import type { IllFormedCode, RepairCode, WarningCode } from './codes.ts'
import { readTyped } from './decode-text.ts'
import { maxDepth } from './json-scanner.ts'
import { countKeys, entriesOf, keyOf, parseJson, readJson, repeatsKey, valueText } from './read-json.ts'
import { allowedTypes, checkSchema, isJsonObject, memberSchema, pointerPart, stringType } from './schema.ts'
import { type DeclaredTool, hasParameter, requiresNothing } from './tool-index.ts'

/** The arguments of a call, or why there are none. */
export type ArgumentsReading =
  | {
      readonly kind: 'arguments'
      readonly value: JsonObject
      readonly text: string
      readonly repairs: readonly RepairCode[]
      readonly schemaErrors: readonly string[]
      readonly warnings: readonly WarningCode[]
    }
  | { readonly kind: 'ill-formed'; readonly code: IllFormedCode; readonly detail: string }
  /** The text is not JSON: it has to be read with care. */
  | { readonly kind: 'unverified' }

/** Keys that hold the arguments, `arguments` first. */
export const argumentKeys: readonly string[] = ['arguments', 'parameters', 'args', 'params', 'input']

function illFormed(code: IllFormedCode, text: string): ArgumentsReading {
  return { kind: 'ill-formed', code, detail: excerpt(text) }
}

/**
 * Reads arguments that a JSON format carries as JSON text.
 *
 * @param outerDepth how deep the text stands in other brackets; what is nested too deep in all is unverified
 */
export function decodeArguments(
  text: string,
  tool: DeclaredTool,
  repairs: readonly RepairCode[],
  outerDepth = 0,
): ArgumentsReading {
  const value = parseJson(text)
  if (value === undefined) return { kind: 'unverified' }
  const keys = countKeys(value, maxDepth - outerDepth)
  if (Number.isNaN(keys)) return { kind: 'unverified' }
  if (isJsonObject(value)) {
    if (!isWellFormed(value, text)) return illFormed('lone_surrogate', text)
    const warnings: WarningCode[] = repeatsKey(text, keys) ? ['duplicate_key'] : []
    return finishArguments(coerceMembers(unwrapArguments({ value, text, repairs }, tool), tool), tool, warnings)
  }
  if (typeof value === 'string' && value.trim() !== '') return decodeEncoded(value, tool, repairs)
  const isNothing =
    value === null || value === '' || typeof value === 'string' || (Array.isArray(value) && value.length === 0)
  return isNothing ? withoutArguments(tool, repairs) : illFormed('arguments_not_object', text)
}

/** The reading of a call that gives no arguments. */
export function withoutArguments(tool: DeclaredTool, repairs: readonly RepairCode[]): ArgumentsReading {
  if (!requiresNothing(tool)) return illFormed('missing_arguments', tool.name)
  return finishArguments({ value: {}, text: '{}', repairs: [...repairs, 'empty_arguments'] }, tool)
}

function decodeEncoded(encoded: string, tool: DeclaredTool, repairs: readonly RepairCode[]): ArgumentsReading {
  const trimmed = encoded.trim()
  const reading = trimmed.startsWith('{') ? readJson(trimmed) : null
  if (reading?.kind !== 'json') return illFormed(reading?.code ?? 'arguments_not_object', encoded)
  return decodeArguments(reading.text, tool, [...repairs, 'double_encoded', ...reading.repairs])
}

/** Arguments that are valid JSON, and not yet checked. */
export interface ArgumentsDraft {
  readonly value: JsonObject
  readonly text: string
  readonly repairs: readonly RepairCode[]
}

/**
 * Takes off a wrapper that the tool does not declare, around arguments that it
 * does: a sole key, or one beside the name of the tool.
 */
export function unwrapArguments(draft: ArgumentsDraft, tool: DeclaredTool): ArgumentsDraft {
  const { value, text, repairs } = draft
  const names = Object.keys(value).filter((key) => key !== 'name' || value.name !== tool.name)
  const [name, ...others] = names
  if (name === undefined || others.length > 0 || !argumentKeys.includes(name)) return draft
  const inner = value[name]
  const isWrapper =
    tool.parameters !== true &&
    !hasParameter(tool, name) &&
    isJsonObject(inner) &&
    Object.keys(inner).every((key) => hasParameter(tool, key))
  if (!isWrapper || hasParameter(tool, 'name')) return draft
  const entry = entriesOf(text).find((candidate) => keyOf(text, candidate) === name)
  return entry ? { value: inner, text: valueText(text, entry), repairs: [...repairs, 'wrapper'] } : draft
}

/** Turns strings into the type that their schema asks for, where they spell one value of it. */
function coerceMembers(draft: ArgumentsDraft, tool: DeclaredTool): ArgumentsDraft {
  const { value, text, repairs } = draft
  const root = tool.parameters
  if (root === true) return draft
  const replacements = new Map<string, string>()
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'string') continue
    const schema = memberSchema(root, root, name)
    const types = schema === undefined ? stringType : allowedTypes(schema, root)
    const typed = types & stringType ? null : readTyped(member, types)
    if (typed !== null && typed.failure === null) replacements.set(name, typed.json)
  }
  if (replacements.size === 0) return draft
  const members = entriesOf(text).map((entry) => {
    const key = keyOf(text, entry)
    return `${JSON.stringify(key)}: ${replacements.get(key) ?? valueText(text, entry)}`
  })
  const coerced = `{${members.join(', ')}}`
  return { value: JSON.parse(coerced) as JsonObject, text: coerced, repairs: [...repairs, 'coerced_type'] }
}

/**
 * Checks complete arguments against the schema of their tool.
 *
 * @param undeclared names that a dialect without types can't read, because nothing declares them
 */
export function finishArguments(
  draft: ArgumentsDraft,
  tool: DeclaredTool,
  warnings: readonly WarningCode[] = [],
  undeclared: readonly string[] = [],
): ArgumentsReading {
  const check = checkSchema(draft.value, tool.parameters)
  if (draft.repairs.includes('missing_bracket') && !isFullyDeclared(draft.value, tool, check.errors)) {
    return illFormed('mismatched_bracket', draft.text)
  }
  const pointers = undeclared.map((name) => `/${pointerPart(name)}`)
  return {
    kind: 'arguments',
    value: draft.value,
    text: draft.text,
    repairs: [...new Set(draft.repairs)],
    schemaErrors: [...new Set([...check.errors, ...pointers])],
    warnings: check.isComplete ? warnings : [...warnings, 'schema_unchecked'],
  }
}

/** Where a bracket was missing may be another place than where it was put: only arguments that fit tell. */
function isFullyDeclared(value: JsonObject, tool: DeclaredTool, errors: readonly string[]): boolean {
  return errors.length === 0 && Object.keys(value).every((name) => hasParameter(tool, name))
}

/** Whether all strings of a value, and its keys, can be written as UTF-8. @param text the value as JSON */
export function isWellFormed(value: JsonValue, text: string): boolean {
  return text.includes('\\') ? isWellFormedWithin(value) : text.isWellFormed()
}

/** Escapes can write half of a surrogate pair where the text itself has none. */
function isWellFormedWithin(value: JsonValue): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormedWithin)
  if (!isJsonObject(value)) return true
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormedWithin(member ?? null))
}
