import { entriesOf, keyOf, parseJson, valueText } from './read-json.ts'

/** Writes the members of a JSON object as parameters: strings as they are, everything else as JSON. */
export function writeParameters(
  argumentsText: string,
  write: (key: string, value: string, isText: boolean) => string,
): string {
  return entriesOf(argumentsText)
    .map((entry) => {
      const json = valueText(argumentsText, entry)
      const value = json.startsWith('"') ? parseJson(json) : undefined
      const isText = typeof value === 'string'
      return write(keyOf(argumentsText, entry), isText ? value : json, isText)
    })
    .join('')
}
