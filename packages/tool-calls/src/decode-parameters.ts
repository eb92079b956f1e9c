import { excerpt, type JsonValue } from '@agentrl/spec'
import type { RepairCode, WarningCode } from './codes.ts'
import {
  type ArgumentsReading,
  finishArguments,
  isWellFormed,
  unwrapArguments,
  withoutArguments,
} from './decode-arguments.ts'
import { asString, decodeText, ofJson, readTyped, type TextReading } from './decode-text.ts'
import { readJson } from './read-json.ts'
import { allowedTypes, memberSchema, requiredNames, type Schema, stringType } from './schema.ts'
import type { DeclaredTool } from './tool-index.ts'

/** A parameter as an XML dialect writes it. */
export interface WrittenParameter {
  readonly name: string
  readonly value: string
  /** Whether its tag says that the value is text, or that it is JSON; null where the schema alone decides. */
  readonly isText: boolean | null
}

/** Reads untyped parameters by the schema of their tool. */
export function decodeParameters(
  parameters: readonly WrittenParameter[],
  tool: DeclaredTool,
  repairs: readonly RepairCode[],
): ArgumentsReading {
  if (parameters.length === 0 && requiredNames(tool.parameters, tool.parameters).length > 0) {
    return withoutArguments(tool, repairs)
  }
  const members: string[] = []
  const value: Record<string, JsonValue> = {}
  const undeclared: string[] = []
  const allRepairs = [...repairs]
  const warnings = new Set<WarningCode>()
  for (const parameter of parameters) {
    const schema = memberSchema(tool.parameters, tool.parameters, parameter.name)
    if (schema === undefined && tool.parameters !== true) undeclared.push(parameter.name)
    const reading = readValue(parameter, schema, tool.parameters)
    if (reading.failure !== null) return { kind: 'ill-formed', code: reading.failure, detail: excerpt(parameter.value) }
    members.push(`${JSON.stringify(parameter.name)}:${reading.json}`)
    setMember(value, parameter.name, reading.value)
    allRepairs.push(...reading.repairs)
    if (reading.warning !== null) warnings.add(reading.warning)
  }
  const text = `{${members.join(',')}}`
  if (!isWellFormed(value, text)) return { kind: 'ill-formed', code: 'lone_surrogate', detail: excerpt(text) }
  const draft = { value, text, repairs: allRepairs }
  const unwrapped = unwrapArguments(draft, tool)
  return finishArguments(unwrapped, tool, [...warnings], unwrapped === draft ? undeclared : [])
}

/** Sets a member, `__proto__` like any other. */
function setMember(object: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
}

function readValue(parameter: WrittenParameter, schema: Schema | undefined, root: Schema): TextReading {
  const { value, isText } = parameter
  if (isText === true) return readDeclaredText(value, schema, root)
  if (isText === false) return readDeclaredJson(value, schema, root)
  return schema === undefined ? asString(value) : decodeText(value, schema, root)
}

/** The tag says text. Where the schema allows none, and the text spells what it asks for, the tag is wrong. */
function readDeclaredText(value: string, schema: Schema | undefined, root: Schema): TextReading {
  const types = schema === undefined ? stringType : allowedTypes(schema, root)
  const typed = types & stringType ? null : readTyped(value, types)
  return typed === null ? asString(value) : { ...typed, repairs: ['coerced_type', ...typed.repairs] }
}

/** A JSON string that spells what the schema asks for in another type. */
function coerceString(reading: TextReading, schema: Schema | undefined, root: Schema): TextReading {
  const { value } = reading
  return typeof value === 'string' ? readDeclaredText(value, schema, root) : reading
}

/** The tag says JSON. Where it is none, the tag is wrong. */
function readDeclaredJson(value: string, schema: Schema | undefined, root: Schema): TextReading {
  const trimmed = value.trim()
  const json = readJson(trimmed)
  if (json.kind === 'json') return coerceString(ofJson(json), schema, root)
  if (json.code === 'too_deep') return { ...asString(value), failure: json.code }
  const reading = schema === undefined ? asString(value) : decodeText(value, schema, root)
  return { ...reading, repairs: ['coerced_type', ...reading.repairs] }
}
