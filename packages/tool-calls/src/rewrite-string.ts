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

const invalidEscape = /\\(?!["/bfnrt]|u[0-9a-fA-F]{4})/g
/** In a single-quoted string these mean something to Python, and nothing to JSON. */
const pythonEscape = /\\[0-9xavUN]/

/** Doubles the backslashes that start no escape. */
function rewriteEscapes(body: string, isSingleQuoted: boolean): Escapes {
  // Pairs of backslashes are put aside, so that every backslash left starts an escape.
  const pair = unusedCharacter(body)
  if (pair === null) return { text: body, hasInvalid: false, failure: 'ambiguous_escape' }
  const escapes = body.replaceAll('\\\\', pair)
  const isAmbiguous = isSingleQuoted ? pythonEscape.test(escapes) : escapes.includes("\\'")
  if (isAmbiguous) return { text: body, hasInvalid: false, failure: 'ambiguous_escape' }
  const quoted = isSingleQuoted ? escapes.replaceAll("\\'", "'") : escapes
  const doubled = quoted.replace(invalidEscape, '\\\\')
  const hasInvalid = doubled.length > quoted.length
  if (hasInvalid && /\\[bf]/.test(escapes)) return { text: body, hasInvalid, failure: 'ambiguous_escape' }
  return { text: doubled.replaceAll(pair, '\\\\'), hasInvalid, failure: null }
}

/** A character of a private use area that a text does not use. */
function unusedCharacter(text: string): string | null {
  for (let code = 0xe000; code < 0xe020; code += 1) {
    const character = String.fromCharCode(code)
    if (!text.includes(character)) return character
  }
  return null
}
