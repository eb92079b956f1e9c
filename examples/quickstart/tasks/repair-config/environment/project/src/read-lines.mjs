/** Splits a configuration text into `{ section, key, raw }` entries; `section` is '' before the first header. */
export function readLines(text) {
  const entries = []
  let section = ''
  for (const [index, line] of text.split('\n').entries()) {
    const content = stripComment(line).trim()
    if (content === '') continue
    const header = /^\[([\w.-]+)\]$/.exec(content)
    const setting = /^([\w-]+)\s*=\s*(.*)$/.exec(content)
    if (header) section = header[1]
    else if (setting) entries.push({ section, key: setting[1], raw: setting[2] })
    else throw new Error(`line ${index + 1}: expected [section] or key = value, found ${content}`)
  }
  return entries
}

function stripComment(line) {
  const start = line.indexOf('#')
  return start === -1 ? line : line.slice(0, start)
}
