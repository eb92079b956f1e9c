/**
 * The exact string that Harbor hands to its agents. Harbor reads instruction.md
 * with Python's universal newlines and then takes canary lines off its head:
 * markers against training on benchmark files, which an agent never sees.
 *
 * Source: `strip_canary` of Harbor's models/task/task.py. White space is
 * Python's (`str.strip`), which differs from JavaScript's: U+FEFF is none,
 * U+001C to U+001F and U+0085 are.
 */

const pythonSpace = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/
const canaryLine = /^(<!--[^\n]*canary[^\n]*-->|#[^\n]*canary[^\n]*)$/i

function pythonStrip(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && pythonSpace.test(text.charAt(start))) start += 1
  while (end > start && pythonSpace.test(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

/** Gives the agent's text for the text of instruction.md. Nothing after the canary lines is changed but CR LF and CR. */
export function instructionText(raw: string): string {
  const lines = raw.replace(/\r\n?/g, '\n').split('\n')
  const afterCanary = lines.findIndex((line) => !canaryLine.test(pythonStrip(line)))
  const rest = afterCanary === -1 ? [] : lines.slice(afterCanary)
  const firstText = rest.findIndex((line) => pythonStrip(line) !== '')
  return firstText === -1 ? '' : rest.slice(firstText).join('\n')
}
