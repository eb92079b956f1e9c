import type { IllFormedCode, RepairCode } from './codes.ts'

/** The inside of a string as JSON wants it. */
export interface RewrittenString {
  readonly text: string
  readonly repairs: readonly RepairCode[]
  readonly failure: IllFormedCode | null
}

const controlCharacter = /[\u0000-\u001f]/
const shortEscapes: Readonly<Record<string, string>> = { '\b': '\\b', '\f': '\\f' }

/**
 * Makes valid JSON of what stands between the quotes of a string, or says that
 * it is (null). Backslashes that start no escape are doubled, raw control
 * characters escaped; nothing else changes. A string that mixes invalid
 * escapes with `\b` or `\f` is not escaped at all, or only here and there:
 * which of both can't be known, as for `\'`.
 *
 * The passes are the engine's own string functions: a loop over characters is
 * many times slower where it is not compiled yet.
 */
export function rewriteString(body: string, isSingleQuoted: boolean): RewrittenString | null {
  if (!body.includes('\\')) return rewriteUnescaped(body, isSingleQuoted)
  const repairs: RepairCode[] = []
  const escaped = rewriteEscapes(body, isSingleQuoted)
  if (escaped.failure !== null) return { text: body, repairs, failure: escaped.failure }
  let { text } = escaped
  if (escaped.hasInvalid) repairs.push('invalid_escape')
  if (isSingleQuoted && text.includes('"'))
    text = text.replace(/\\[\s\S]|"/g, (found) => (found === '"' ? '\\"' : found))
  if (controlCharacter.test(text)) {
    repairs.push('control_character')
    text = escapeControls(text)
  }
  return repairs.length === 0 && text === body ? null : { text, repairs, failure: null }
}

/** A string without a backslash: `JSON.stringify` escapes what has to be. */
function rewriteUnescaped(body: string, isSingleQuoted: boolean): RewrittenString | null {
  const hasControls = controlCharacter.test(body)
  if (!hasControls && !(isSingleQuoted && body.includes('"'))) return null
  return { text: JSON.stringify(body).slice(1, -1), repairs: hasControls ? ['control_character'] : [], failure: null }
}

/** Escapes raw control characters; what stands in front of each is not a lone backslash any more. */
function escapeControls(text: string): string {
  const common = text.replace(/\n/g, '\\n').replace(/\t/g, '\\t').replace(/\r/g, '\\r')
  return controlCharacter.test(common) ? common.replace(/[\u0000-\u001f]/g, escapeControl) : common
}

function escapeControl(character: string): string {
  return shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

interface Escapes {
  readonly text: string
  readonly hasInvalid: boolean
  readonly failure: IllFormedCode | null
}

function rewriteEscapes(body: string, isSingleQuoted: boolean): Escapes {
  const parts: string[] = []
  let hasRare = false
  let hasInvalid = false
  let from = 0
  for (let index = body.indexOf('\\'); index >= 0; ) {
    const kind = readEscape(body, index, isSingleQuoted)
    if (kind === 'ambiguous') return { text: body, hasInvalid, failure: 'ambiguous_escape' }
    if (kind === 'rare') hasRare = true
    if (kind === 'invalid') {
      hasInvalid = true
      parts.push(body.slice(from, index), '\\')
      from = index
    } else if (kind === 'quote') {
      parts.push(body.slice(from, index))
      from = index + 1
    }
    index = body.indexOf('\\', index + (kind === 'invalid' ? 1 : 2))
  }
  if (hasInvalid && hasRare) return { text: body, hasInvalid, failure: 'ambiguous_escape' }
  if (from === 0 && parts.length === 0) return { text: body, hasInvalid, failure: null }
  parts.push(body.slice(from))
  return { text: parts.join(''), hasInvalid, failure: null }
}

/** What the backslash at a place starts. */
function readEscape(
  body: string,
  index: number,
  isSingleQuoted: boolean,
): 'valid' | 'rare' | 'quote' | 'invalid' | 'ambiguous' {
  switch (body.charCodeAt(index + 1)) {
    case 34:
    case 92:
    case 47:
    case 110:
    case 114:
    case 116:
      return 'valid'
    case 98:
    case 102:
      return 'rare'
    case 39:
      return isSingleQuoted ? 'quote' : 'ambiguous'
    case 117:
      return isHex(body, index + 2) ? 'valid' : 'invalid'
    default:
      // In a single-quoted string these mean something to Python, and nothing to JSON.
      return isSingleQuoted && /[0-9xavUN]/.test(body.charAt(index + 1)) ? 'ambiguous' : 'invalid'
  }
}

function isHex(text: string, start: number): boolean {
  for (let index = start; index < start + 4; index += 1) {
    const code = text.charCodeAt(index)
    const isDigit = code >= 48 && code <= 57
    const isLetter = (code >= 97 && code <= 102) || (code >= 65 && code <= 70)
    if (!isDigit && !isLetter) return false
  }
  return true
}
