import { bind, signature } from '../python/arguments.ts'
import type { KeywordArguments, Value } from '../python/values.ts'

/** A filter: its first positional argument is the value that it is applied to. */
export type FilterFunction = (positional: readonly Value[], keywords: KeywordArguments) => Value

/** A filter by its Python parameters; left out arguments are undefined. */
export function filter(
  name: string,
  parameters: readonly string[],
  implementation: (value: Value, ...others: (Value | undefined)[]) => Value,
): [string, FilterFunction] {
  const declared = signature(name, ...parameters)
  return [
    name,
    (positional, keywords) => {
      const [value, ...others] = bind(declared, positional, keywords)
      return implementation(value ?? null, ...others)
    },
  ]
}
