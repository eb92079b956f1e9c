const words = { on: true, yes: true, true: true, off: false, no: false, false: false }

/** Gives the value of a raw text: text, number, true, false, or a list of these. */
export function parseValue(raw) {
  const parts = splitList(raw)
  return parts.length > 1 ? parts.map(parseScalar) : parseScalar(raw)
}

function parseScalar(raw) {
  const text = raw.trim()
  if (/^".*"$/.test(text)) return text.slice(1, -1)
  if (words[text]) return words[text]
  if (Number(text)) return Number(text)
  return text
}

function splitList(raw) {
  const parts = ['']
  let isQuoted = false
  for (const character of raw) {
    if (character === '"') isQuoted = !isQuoted
    if (character === ',' && !isQuoted) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}
