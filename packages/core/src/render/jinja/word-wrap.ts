import { valueError } from '../python/python-error.ts'
import { whitespaceClass } from '../python/unicode.ts'

/**
 * Python's `textwrap.wrap` with tabs and whitespace left as they are: words
 * and the spaces between them are chunks, lines are filled greedily, spaces at
 * the ends of lines are dropped.
 */
export interface WrapOptions {
  readonly breaksLongWords: boolean
  readonly breaksOnHyphens: boolean
}

const space = '[\\t\\n\\v\\f\\r ]'
const letter = '[\\p{L}_]'
const wordPunctuation = '[\\p{L}\\p{N}_!"\'&.,?]'

/** `TextWrapper.wordsep_re`: spaces, dashes between words, and words, split after hyphens between letters. */
const hyphenChunks = new RegExp(
  `(${space}+|(?<=${wordPunctuation})-{2,}(?=[\\p{L}\\p{N}_])|[^\\t\\n\\v\\f\\r ]+?(?:-(?:(?<=${letter}{2}-)|(?<=${letter}-[\\p{L}_]-))(?=${letter}-?${letter})|(?=${space}|$)|(?<=${wordPunctuation})(?=-{2,}[\\p{L}\\p{N}_])))`,
  'u',
)
const onlyWhitespace = new RegExp(`^[${whitespaceClass}]*$`)
const spaceChunks = new RegExp(`(${space}+)`)

/** The lines of a text; none for an empty one. */
export function wrapText(text: string, width: number, options: WrapOptions): string[] {
  if (width <= 0) throw valueError(`invalid width ${width} (must be > 0)`)
  const chunks = text
    .split(options.breaksOnHyphens ? hyphenChunks : spaceChunks)
    .filter((chunk) => chunk !== '')
    .reverse()
  const lines: string[] = []
  while (chunks.length > 0) {
    if (isBlank(chunks.at(-1)) && lines.length > 0) chunks.pop()
    const line: string[] = []
    let used = 0
    for (let chunk = chunks.at(-1); chunk !== undefined && used + sizeOf(chunk) <= width; chunk = chunks.at(-1)) {
      used += sizeOf(chunk)
      line.push(chunk)
      chunks.pop()
    }
    const next = chunks.at(-1)
    if (next !== undefined && sizeOf(next) > width) takeLongWord(chunks, line, width - used, options)
    if (isBlank(line.at(-1))) line.pop()
    if (line.length > 0) lines.push(line.join(''))
  }
  return lines
}

function isBlank(chunk: string | undefined): boolean {
  return chunk !== undefined && onlyWhitespace.test(chunk)
}

function sizeOf(chunk: string): number {
  return [...chunk].length
}

/** A word longer than a line: cut to what is left of the line, after a hyphen where one may break. */
function takeLongWord(chunks: string[], line: string[], room: number, options: WrapOptions): void {
  const word = [...(chunks.pop() ?? '')]
  if (options.breaksLongWords) {
    let end = room
    if (options.breaksOnHyphens && word.length > room) {
      const hyphen = word.lastIndexOf('-', room - 1)
      if (hyphen > 0 && word.slice(0, hyphen).some((character) => character !== '-')) end = hyphen + 1
    }
    line.push(word.slice(0, end).join(''))
    chunks.push(word.slice(end).join(''))
  } else if (line.length === 0) line.push(word.join(''))
  else chunks.push(word.join(''))
}
