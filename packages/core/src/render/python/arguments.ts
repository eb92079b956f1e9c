import { typeError } from './python-error.ts'
import { repr, str } from './represent.ts'
import { textOf } from './text.ts'
import type { KeywordArguments, Value } from './values.ts'

/** A parameter list: names in order; one that ends in `?` may be left out. `/` as the first entry: no name may be used. */
export interface Signature {
  readonly name: string
  readonly names: readonly string[]
  readonly required: number
  readonly isPositionalOnly: boolean
}

export function signature(name: string, ...parameters: readonly string[]): Signature {
  const isPositionalOnly = parameters[0] === '/'
  const listed = isPositionalOnly ? parameters.slice(1) : parameters
  return {
    name,
    names: listed.map((parameter) => parameter.replace('?', '')),
    required: listed.filter((parameter) => !parameter.endsWith('?')).length,
    isPositionalOnly,
  }
}

/** Arguments in the order of the parameters; undefined for one that was left out. Throws TypeError as Python does. */
export function bind(
  { name, names, required, isPositionalOnly }: Signature,
  positional: readonly Value[],
  keywords: KeywordArguments,
): (Value | undefined)[] {
  if (positional.length > names.length) {
    throw typeError(`${name}() takes at most ${names.length} arguments (${positional.length} given)`)
  }
  const bound: (Value | undefined)[] = names.map((_, index) => positional[index])
  for (const { key, value } of keywords.entries()) {
    const index = names.indexOf(textOf(str(key)))
    if (isPositionalOnly) throw typeError(`${name}() takes no keyword arguments`)
    if (index === -1) throw typeError(`${name}() got an unexpected keyword argument ${textOf(repr(key))}`)
    if (bound[index] !== undefined) throw typeError(`${name}() got multiple values for argument ${textOf(repr(key))}`)
    bound[index] = value
  }
  for (let index = 0; index < required; index += 1) {
    if (bound[index] === undefined) throw typeError(`${name}() missing required argument: '${names[index] ?? ''}'`)
  }
  return bound
}
