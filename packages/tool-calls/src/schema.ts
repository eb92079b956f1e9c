import type { JsonObject, JsonValue } from '@agentrl/spec'

/**
 * As much JSON Schema as tool parameters use: which JSON types a schema allows
 * (to read untyped text), and where a value departs from it (to report).
 *
 * Followed: local $ref, anyOf, oneOf, allOf, type lists, nullable, enum,
 * const, properties, required, additionalProperties, items, prefixItems.
 * Not checked: ranges, lengths, patterns and formats; the tool does that, and
 * a client's regular expression must not run over a model's output.
 */

/** A set of JSON types. `number` is `integer | fraction`. */
export type TypeSet = number

export const stringType = 1
export const integerType = 2
export const fractionType = 4
export const booleanType = 8
export const nullType = 16
export const arrayType = 32
export const objectType = 64
export const anyType = 127

const typesByName: Readonly<Record<string, TypeSet>> = {
  string: stringType,
  integer: integerType,
  number: integerType | fractionType,
  boolean: booleanType,
  null: nullType,
  array: arrayType,
  object: objectType,
}

/** A schema: an object, or a boolean that allows all or nothing. */
export type Schema = JsonObject | boolean

const maxReferences = 32

/** A value that is a schema, or undefined. */
export function asSchema(value: JsonValue | undefined): Schema | undefined {
  return typeof value === 'boolean' || isJsonObject(value) ? value : undefined
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function schemaList(value: JsonValue | undefined): readonly Schema[] {
  return Array.isArray(value) ? value.map(asSchema).filter((item) => item !== undefined) : []
}

/** Follows local references. A reference that leads nowhere, or in a circle, allows everything. */
export function resolveSchema(schema: Schema, root: Schema): Schema {
  let resolved = schema
  for (let count = 0; count < maxReferences; count += 1) {
    if (typeof resolved === 'boolean' || typeof resolved.$ref !== 'string') return resolved
    const target = followPointer(resolved.$ref, root)
    if (target === undefined) return true
    resolved = target
  }
  return true
}

function followPointer(reference: string, root: Schema): Schema | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let place: JsonValue | undefined = root
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, name)) return undefined
    place = (place as JsonObject)[name]
  }
  return asSchema(place)
}

/** The JSON type of a value. An integral number counts as an integer, as JSON Schema has it. */
export function typeOfValue(value: JsonValue): TypeSet {
  if (typeof value === 'string') return stringType
  if (typeof value === 'number') return Number.isInteger(value) ? integerType : fractionType
  if (typeof value === 'boolean') return booleanType
  if (value === null) return nullType
  return Array.isArray(value) ? arrayType : objectType
}

/** The JSON types that a schema allows; all of them where it does not say. */
export function allowedTypes(schema: Schema, root: Schema, depth = 0): TypeSet {
  const resolved = resolveSchema(schema, root)
  if (typeof resolved === 'boolean' || depth > 16) return anyType
  let types = anyType
  if (typeof resolved.type === 'string') types = typesByName[resolved.type] ?? anyType
  else if (Array.isArray(resolved.type))
    types = union(resolved.type.map((name) => typesByName[String(name)] ?? anyType))
  else if (isJsonObject(resolved.properties)) types = objectType
  else if (resolved.items !== undefined) types = arrayType
  if (Array.isArray(resolved.enum)) types &= union(resolved.enum.map(typeOfValue))
  if (resolved.const !== undefined) types &= typeOfValue(resolved.const)
  for (const branches of [schemaList(resolved.anyOf), schemaList(resolved.oneOf)]) {
    if (branches.length > 0) types &= union(branches.map((branch) => allowedTypes(branch, root, depth + 1)))
  }
  for (const branch of schemaList(resolved.allOf)) types &= allowedTypes(branch, root, depth + 1)
  return resolved.nullable === true ? types | nullType : types
}

function union(sets: readonly TypeSet[]): TypeSet {
  return sets.reduce((all, set) => all | set, 0)
}

/** Every literal that a schema's enum or const allows; null where it has neither. */
export function allowedLiterals(schema: Schema, root: Schema): readonly JsonValue[] | null {
  const resolved = resolveSchema(schema, root)
  if (typeof resolved === 'boolean') return null
  if (resolved.const !== undefined) return [resolved.const]
  return Array.isArray(resolved.enum) ? resolved.enum : null
}

/** The schema of a member: its own, that of additional members, or undefined where neither says anything. */
export function memberSchema(schema: Schema, root: Schema, name: string, depth = 0): Schema | undefined {
  const resolved = resolveSchema(schema, root)
  if (typeof resolved === 'boolean' || depth > 16) return undefined
  if (isJsonObject(resolved.properties) && Object.hasOwn(resolved.properties, name)) {
    return asSchema(resolved.properties[name])
  }
  for (const branch of [...schemaList(resolved.allOf), ...schemaList(resolved.anyOf), ...schemaList(resolved.oneOf)]) {
    const found = memberSchema(branch, root, name, depth + 1)
    if (found !== undefined) return found
  }
  const additional = asSchema(resolved.additionalProperties)
  return additional === false ? undefined : additional
}

/** The names that a schema requires of an object. */
export function requiredNames(schema: Schema, root: Schema): readonly string[] {
  const resolved = resolveSchema(schema, root)
  if (typeof resolved === 'boolean' || !Array.isArray(resolved.required)) return []
  return resolved.required.filter((name: JsonValue): name is string => typeof name === 'string')
}

/** How much work a check may be: recursive schemas with alternatives are exponential. */
const maxSteps = 200_000

export interface SchemaCheck {
  /** JSON pointers of what departs from the schema, outermost first. */
  readonly errors: readonly string[]
  /** False when the check ended early. */
  readonly isComplete: boolean
}

/** Where a value departs from a schema, for at most 64 places. References are looked up in `root`. */
export function checkSchema(value: JsonValue, schema: Schema, root: Schema = schema): SchemaCheck {
  const checker = new SchemaChecker(root)
  checker.check(value, schema)
  return { errors: checker.errors, isComplete: checker.stepsLeft > 0 }
}

const maxErrors = 64

class SchemaChecker {
  errors: string[] = []
  stepsLeft: number = maxSteps
  readonly #root: Schema
  /** The names and indexes that lead to the value at hand. */
  readonly #path: (string | number)[] = []

  constructor(root: Schema) {
    this.#root = root
  }

  check(value: JsonValue, schema: Schema): void {
    this.stepsLeft -= 1
    if (this.stepsLeft <= 0 || this.errors.length >= maxErrors) return
    const resolved = resolveSchema(schema, this.#root)
    if (resolved === true) return
    if (resolved === false || !this.#fitsShallowly(value, resolved)) {
      this.#fail()
      return
    }
    if (resolved.allOf !== undefined) {
      for (const branch of schemaList(resolved.allOf)) this.check(value, branch)
    }
    if (resolved.anyOf !== undefined && !this.#fitsOne(value, schemaList(resolved.anyOf))) this.#fail()
    if (resolved.oneOf !== undefined && !this.#fitsOne(value, schemaList(resolved.oneOf))) this.#fail()
    if (Array.isArray(value)) this.#checkItems(value, resolved)
    else if (isJsonObject(value)) this.#checkMembers(value, resolved)
  }

  #fail(): void {
    this.errors.push(this.#path.map((part) => `/${typeof part === 'number' ? part : pointerPart(part)}`).join(''))
  }

  #checkAt(part: string | number, value: JsonValue, schema: Schema): void {
    this.#path.push(part)
    this.check(value, schema)
    this.#path.pop()
  }

  #fitsShallowly(value: JsonValue, schema: JsonObject): boolean {
    if (value === null && schema.nullable === true) return true
    const type = typeOfValue(value)
    if (typeof schema.type === 'string' && ((typesByName[schema.type] ?? anyType) & type) === 0) return false
    if (
      Array.isArray(schema.type) &&
      (union(schema.type.map((name) => typesByName[String(name)] ?? anyType)) & type) === 0
    ) {
      return false
    }
    if (Array.isArray(schema.enum) && !schema.enum.some((literal: JsonValue) => isEqual(literal, value))) return false
    return schema.const === undefined || isEqual(schema.const, value)
  }

  #fitsOne(value: JsonValue, branches: readonly Schema[]): boolean {
    if (branches.length === 0) return true
    const outer = this.errors
    const fits = branches.some((branch) => {
      this.errors = []
      this.check(value, branch)
      return this.errors.length === 0
    })
    this.errors = outer
    return fits
  }

  #checkItems(value: readonly JsonValue[], schema: JsonObject): void {
    const leading = Array.isArray(schema.prefixItems) ? schemaList(schema.prefixItems) : []
    const rest = asSchema(schema.items)
    if (leading.length === 0 && (rest === undefined || rest === true)) return
    for (let index = 0; index < value.length && this.errors.length < maxErrors; index += 1) {
      const itemSchema = leading[index] ?? rest
      if (itemSchema !== undefined) this.#checkAt(index, value[index] ?? null, itemSchema)
    }
  }

  #checkMembers(value: JsonObject, schema: JsonObject): void {
    if (Array.isArray(schema.required)) {
      for (const name of schema.required) {
        if (typeof name !== 'string' || Object.hasOwn(value, name)) continue
        this.#path.push(name)
        this.#fail()
        this.#path.pop()
      }
    }
    const properties = isJsonObject(schema.properties) ? schema.properties : {}
    const additional = asSchema(schema.additionalProperties)
    if (schema.properties === undefined && additional === undefined) return
    for (const name of Object.keys(value)) {
      const declared = Object.hasOwn(properties, name) ? asSchema(properties[name]) : additional
      if (declared !== undefined && declared !== true) this.#checkAt(name, value[name] ?? null, declared)
    }
  }
}

/** A name as a part of a JSON pointer (RFC 6901). */
export function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Whether two JSON values are the same value. Numbers compare by value, keys in any order. */
export function isEqual(first: JsonValue, second: JsonValue): boolean {
  if (first === second) return true
  if (Array.isArray(first) && Array.isArray(second)) {
    return (
      first.length === second.length &&
      first.every((item: JsonValue, index) => isEqual(item, second[index] as JsonValue))
    )
  }
  if (!isJsonObject(first) || !isJsonObject(second)) return false
  const names = Object.keys(first)
  return (
    names.length === Object.keys(second).length &&
    names.every((name) => Object.hasOwn(second, name) && isEqual(first[name] as JsonValue, second[name] as JsonValue))
  )
}
