/** Gives new settings in which `override` wins over `base`. */
export function mergeSettings(base, override) {
  return { ...base, ...override }
}
