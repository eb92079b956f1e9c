/** Ends an exhaustive `switch`: does not compile while a case is missing, throws if one is met. */
export function unreachable(value: never): never {
  throw new TypeError(`Unexpected case: ${JSON.stringify(value)}`)
}
