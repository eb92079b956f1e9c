import { excerpt, type JsonObject } from '@agentrl/spec'
import type { IllFormedCode, RepairCode, WarningCode } from './codes.ts'
import { type ArgumentsReading, argumentKeys, decodeArguments, withoutArguments } from './decode-arguments.ts'
import type { JsonEntry } from './json-scanner.ts'
import { entriesOf, type JsonReading, keyOf, parseJson, readJson, valueText, withoutFinalSpace } from './read-json.ts'
import { isEqual } from './schema.ts'
import { type DeclaredTool, hasParameter, type ToolIndex } from './tool-index.ts'

/** What a region says: a call, or why it is none. Where it stands is known to who read it. */
export type CallReading =
  | {
      readonly kind: 'call'
      readonly name: string
      /** The id that stands beside the name, in a format that has one there. */
      readonly id?: string
      readonly arguments: JsonObject
      readonly argumentsText: string
      readonly repairs: readonly RepairCode[]
      readonly schemaErrors: readonly string[]
      readonly warnings: readonly WarningCode[]
    }
  | { readonly kind: 'ill-formed'; readonly code: IllFormedCode; readonly detail: string }

export function illFormedCall(code: IllFormedCode, detail: string): CallReading {
  return { kind: 'ill-formed', code, detail: excerpt(detail) }
}

/** Puts a written name and the arguments that belong to it together. */
export function nameCall(
  tools: ToolIndex,
  writtenName: string,
  readArguments: (tool: DeclaredTool) => ArgumentsReading,
): CallReading | 'unverified' {
  const reading = tools.read(writtenName)
  if (reading.kind === 'unknown') return illFormedCall(reading.code, writtenName)
  const given = readArguments(reading.tool)
  if (given.kind === 'unverified') return 'unverified'
  if (given.kind === 'ill-formed') return given
  return {
    kind: 'call',
    name: reading.tool.name,
    arguments: given.value,
    argumentsText: given.text,
    repairs: reading.isExact ? given.repairs : [...given.repairs, 'tool_name'],
    schemaErrors: given.schemaErrors,
    warnings: given.warnings,
  }
}

/** Reads a JSON value that is the arguments of a call, named outside of it. */
export function decodeNamedCall(tools: ToolIndex, writtenName: string, json: JsonReading): CallReading | 'unverified' {
  return nameCall(tools, writtenName, (tool) => decodeArguments(json.text, tool, json.repairs))
}

const nameKeys: readonly string[] = ['name', 'function', 'tool', 'tool_name', 'function_name']
const wrapperKeys: readonly string[] = ['function', 'function_call', 'tool_call']
const maxWrappers = 3

/** How a format writes a call as an object. */
export interface EnvelopeRules {
  /** The keys that the format itself uses for arguments. */
  readonly argumentKeys: readonly string[]
  /** Whether the format itself writes `id`. */
  readonly hasId?: boolean
}

interface EnvelopeContext {
  readonly tools: ToolIndex
  readonly rules: EnvelopeRules
}

/** Reads a JSON value that is a call, name and arguments; or several, in an array. */
export function decodeEnvelopes(
  tools: ToolIndex,
  rules: EnvelopeRules,
  json: JsonReading,
): CallReading[] | 'unverified' {
  const context = { tools, rules }
  const { text, entries, repairs } = json
  if (entries === null) return decodeUnread(context, text)
  if (text.startsWith('[')) return decodeList(context, text, entries, repairs)
  if (text.startsWith('{')) return decodeObject(context, { text, entries }, repairs, maxWrappers)
  const encoded = text.startsWith('"') ? parseJson(text) : undefined
  const inner = typeof encoded === 'string' && encoded.trimStart().startsWith('{') ? readJson(encoded.trim()) : null
  if (inner?.kind !== 'json') return [illFormedCall(inner?.code ?? 'invalid_json', text)]
  const allRepairs: readonly RepairCode[] = [...repairs, 'double_encoded', ...inner.repairs]
  return decodeObject(context, { text: inner.text, entries: inner.entries }, allRepairs, maxWrappers)
}

/** How a call starts that is written as the format's template writes it. */
const canonicalHead = /^\{[ \n]?"name":[ ]?"([^"\\]*)",[ \n]?"(\w+)":[ ]?(?=\{)/
const maxHeadLength = 512

/** A call of which nothing has been looked at: whether it is as the template writes it, `JSON.parse` can tell. */
function decodeUnread({ tools, rules }: EnvelopeContext, text: string): CallReading[] | 'unverified' {
  const head = canonicalHead.exec(text.slice(0, maxHeadLength))
  const name = head?.[1]
  if (head === null || name === undefined || !rules.argumentKeys.includes(head[2] ?? '')) return 'unverified'
  if (!text.endsWith('}')) return 'unverified'
  const argumentsText = withoutFinalSpace(text.slice(head[0].length, -1))
  const call = nameCall(tools, name, (tool) => decodeArguments(argumentsText, tool, [], 1))
  return call === 'unverified' ? call : [call]
}

function decodeList(
  context: EnvelopeContext,
  text: string,
  entries: readonly JsonEntry[],
  repairs: readonly RepairCode[],
): CallReading[] | 'unverified' {
  const readings: CallReading[] = []
  for (const entry of entries) {
    const item = valueText(text, entry)
    const inner = item.startsWith('{')
      ? decodeObject(context, readObject(item), repairs, maxWrappers)
      : [illFormedCall('invalid_json', item)]
    if (inner === 'unverified') return inner
    readings.push(...inner)
  }
  return readings
}

interface ObjectReading {
  readonly text: string
  readonly entries: readonly JsonEntry[]
}

function readObject(text: string): ObjectReading {
  return { text, entries: entriesOf(text) }
}

function decodeObject(
  context: EnvelopeContext,
  json: ObjectReading,
  repairs: readonly RepairCode[],
  wrappersLeft: number,
): CallReading[] | 'unverified' {
  const fields = new Map(json.entries.map((entry) => [keyOf(json.text, entry), entry]))
  const unwrapped = wrappersLeft > 0 ? unwrapCall(context, json.text, fields, repairs, wrappersLeft) : null
  if (unwrapped !== null) return unwrapped
  const nameKey = nameKeys.find((key) => startOf(json.text, fields.get(key)) === '"')
  const nameEntry = nameKey === undefined ? undefined : fields.get(nameKey)
  if (nameKey === undefined || nameEntry === undefined) return toolAsKey(context, json.text, fields, repairs)
  const name = parseJson(valueText(json.text, nameEntry))
  if (typeof name !== 'string') return 'unverified'
  const allRepairs: readonly RepairCode[] = nameKey === 'name' ? repairs : [...repairs, 'renamed_key']
  const call = nameCall(context.tools, name, (tool) =>
    readFields(context.rules, json.text, fields, nameKey, tool, allRepairs),
  )
  if (call === 'unverified') return call
  if (call.kind === 'ill-formed') return [call]
  const idEntry = context.rules.hasId ? fields.get('id') : undefined
  const id = idEntry === undefined ? undefined : parseJson(valueText(json.text, idEntry))
  const hasTwice = fields.size < json.entries.length && !call.warnings.includes('duplicate_key')
  const warnings: readonly WarningCode[] = hasTwice ? [...call.warnings, 'duplicate_key'] : call.warnings
  return [typeof id === 'string' ? { ...call, warnings, id } : { ...call, warnings }]
}

function startOf(text: string, entry: JsonEntry | undefined): string {
  return entry === undefined ? '' : text.charAt(entry.valueStart)
}

/** `{"type": "function", "function": {…}}`, `{"tool_calls": […]}` and their like. */
function unwrapCall(
  context: EnvelopeContext,
  text: string,
  fields: ReadonlyMap<string, JsonEntry>,
  repairs: readonly RepairCode[],
  wrappersLeft: number,
): CallReading[] | 'unverified' | null {
  if (startOf(text, fields.get('name')) === '"') return null
  for (const key of wrapperKeys) {
    const entry = fields.get(key)
    if (entry === undefined || text.charAt(entry.valueStart) !== '{') continue
    return decodeObject(context, readObject(valueText(text, entry)), [...repairs, 'wrapper'], wrappersLeft - 1)
  }
  const list = fields.get('tool_calls')
  if (list === undefined || text.charAt(list.valueStart) !== '[') return null
  const inner = valueText(text, list)
  return decodeList(context, inner, entriesOf(inner), [...repairs, 'wrapper'])
}

/** `{"bash": {"command": "ls"}}`: the only key is the name of a declared tool. */
function toolAsKey(
  context: EnvelopeContext,
  text: string,
  fields: ReadonlyMap<string, JsonEntry>,
  repairs: readonly RepairCode[],
): CallReading[] | 'unverified' {
  const [[name, entry] = [], ...others] = fields
  const isTool = name !== undefined && entry !== undefined && others.length === 0 && !argumentKeys.includes(name)
  if (!isTool || text.charAt(entry.valueStart) !== '{' || !context.tools.isDeclared(name)) {
    return [illFormedCall('missing_name', text)]
  }
  const call = nameCall(context.tools, name, (tool) =>
    decodeArguments(valueText(text, entry), tool, [...repairs, 'wrapper']),
  )
  return call === 'unverified' ? call : [call]
}

function readFields(
  rules: EnvelopeRules,
  text: string,
  fields: ReadonlyMap<string, JsonEntry>,
  nameKey: string,
  tool: DeclaredTool,
  repairs: readonly RepairCode[],
): ArgumentsReading {
  const present: { key: string; entry: JsonEntry }[] = []
  for (const key of argumentKeys) {
    const entry = fields.get(key)
    if (entry === undefined) continue
    const isNative = key === 'arguments' || key === 'parameters'
    const isObject = text.charAt(entry.valueStart) === '{' && !hasParameter(tool, key)
    if (isNative || isObject) present.push({ key, entry })
  }
  const [first, ...others] = present
  if (first === undefined) return readFlattened(text, fields, nameKey, tool, repairs)
  const firstText = valueText(text, first.entry)
  for (const other of others) {
    const values = [parseJson(firstText), parseJson(valueText(text, other.entry))] as const
    if (values[0] === undefined || values[1] === undefined) return { kind: 'unverified' }
    if (!isEqual(values[0], values[1]))
      return { kind: 'ill-formed', code: 'conflicting_arguments', detail: excerpt(text) }
  }
  const isNative = others.length === 0 && rules.argumentKeys.includes(first.key)
  return decodeArguments(firstText, tool, isNative ? repairs : [...repairs, 'renamed_key'])
}

/** `{"name": "bash", "command": "ls"}`: every other key is a declared parameter, and the name is none. */
function readFlattened(
  text: string,
  fields: ReadonlyMap<string, JsonEntry>,
  nameKey: string,
  tool: DeclaredTool,
  repairs: readonly RepairCode[],
): ArgumentsReading {
  const members = [...fields].filter(([key, entry]) => {
    const isEnvelope = key === 'id' || (key === 'type' && valueText(text, entry) === '"function"')
    return key !== nameKey && !(isEnvelope && !hasParameter(tool, key))
  })
  if (members.length === 0) return withoutArguments(tool, repairs)
  const isDeclared = tool.parameters !== true && members.every(([key]) => hasParameter(tool, key))
  if (!isDeclared || hasParameter(tool, nameKey)) {
    const code = members.some(([key]) => hasParameter(tool, key)) ? 'flattened_arguments' : 'missing_arguments'
    return { kind: 'ill-formed', code, detail: excerpt(text) }
  }
  const flattened = `{${members.map(([key, entry]) => `${JSON.stringify(key)}: ${valueText(text, entry)}`).join(', ')}}`
  return decodeArguments(flattened, tool, [...repairs, 'flattened_arguments'])
}
