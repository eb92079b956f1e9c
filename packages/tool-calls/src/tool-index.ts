import type { ToolDefinition } from '@agentrl/spec'
import { allowedTypes, memberSchema, objectType, requiredNames, type Schema } from './schema.ts'

/** A tool that a call may name. */
export interface DeclaredTool {
  readonly name: string
  readonly parameters: Schema
}

/** The tool that a name means, or why none. */
export type NameReading =
  | { readonly kind: 'tool'; readonly tool: DeclaredTool; readonly isExact: boolean }
  | { readonly kind: 'unknown'; readonly code: 'empty_name' | 'unknown_tool' }

const namespace = 'functions.'

/** A tool that declares no parameters takes none. */
const noParameters: Schema = { type: 'object', properties: {} }

/**
 * The declared tools by name. A name counts exactly, then trimmed, then freed
 * of the prefix `functions.`, then by its only match in another case. Nothing
 * else: a similar name or the same parameters do not make it the same tool.
 * Without a list of tools every name is accepted.
 */
export class ToolIndex {
  readonly #tools: ReadonlyMap<string, DeclaredTool> | null
  #namesByLowerCase: Map<string, string[]> | null = null

  constructor(tools: readonly ToolDefinition[] | undefined) {
    this.#tools = tools
      ? new Map(
          tools.map(({ function: { name, parameters } }) => [name, { name, parameters: parameters ?? noParameters }]),
        )
      : null
  }

  /** Whether a tool of exactly that name is declared. */
  isDeclared(name: string): boolean {
    return this.#tools?.has(name) ?? false
  }

  /** Whether a name means a tool, in one way or another. */
  isKnown(name: string): boolean {
    return this.read(name).kind === 'tool'
  }

  /** The tool that a written name means. */
  read(written: string): NameReading {
    const trimmed = written.trim()
    if (trimmed === '') return { kind: 'unknown', code: 'empty_name' }
    if (this.#tools === null) {
      const name = trimmed.startsWith(namespace) && trimmed.length > namespace.length ? trimmed.slice(10) : trimmed
      return { kind: 'tool', tool: { name, parameters: true }, isExact: name === written }
    }
    const exact = this.#tools.get(written)
    if (exact) return { kind: 'tool', tool: exact, isExact: true }
    const bare = trimmed.startsWith(namespace) ? trimmed.slice(namespace.length) : trimmed
    const tool = this.#tools.get(trimmed) ?? this.#tools.get(bare) ?? this.#onlyMatch(bare)
    return tool ? { kind: 'tool', tool, isExact: false } : { kind: 'unknown', code: 'unknown_tool' }
  }

  #onlyMatch(name: string): DeclaredTool | undefined {
    if (this.#namesByLowerCase === null) {
      this.#namesByLowerCase = new Map()
      for (const declared of this.#tools?.keys() ?? []) {
        const lower = declared.toLowerCase()
        this.#namesByLowerCase.set(lower, [...(this.#namesByLowerCase.get(lower) ?? []), declared])
      }
    }
    const [match, ...others] = this.#namesByLowerCase.get(name.toLowerCase()) ?? []
    return match !== undefined && others.length === 0 ? this.#tools?.get(match) : undefined
  }
}

/** Whether a tool declares a parameter of that name, or does not say which it has. */
export function hasParameter(tool: DeclaredTool, name: string): boolean {
  return tool.parameters === true || memberSchema(tool.parameters, tool.parameters, name) !== undefined
}

/** Whether a tool can be called without arguments: it says what it takes, and requires nothing. */
export function requiresNothing(tool: DeclaredTool): boolean {
  if (typeof tool.parameters === 'boolean') return false
  const isObject = (allowedTypes(tool.parameters, tool.parameters) & objectType) !== 0
  return isObject && requiredNames(tool.parameters, tool.parameters).length === 0
}
