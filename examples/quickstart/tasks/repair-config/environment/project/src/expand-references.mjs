/** Gives new settings in which each `${section.key}` of a text is replaced by the value at that path. */
export function expandReferences(settings) {
  return expand(settings, settings)
}

function expand(value, settings) {
  if (typeof value === 'string') return value.replace(/\$\{([\w.-]+)\}/, (_, path) => String(lookUp(settings, path)))
  if (Array.isArray(value)) return value.map((item) => expand(item, settings))
  if (typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item, settings)]))
}

function lookUp(settings, path) {
  const value = path.split('.').reduce((place, key) => place?.[key], settings)
  if (value === undefined) throw new Error(`\${${path}} leads nowhere`)
  return value
}
