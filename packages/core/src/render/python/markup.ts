import { str } from './represent.ts'
import { cut, isMarkup, joinAll, textOf, toMarkup } from './text.ts'
import { type Str, Text, type Value } from './values.ts'

/** What `markupsafe` does to text: escaping, and strings that are known to be escaped. */

const replacements: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
}

/** `markupsafe.escape(value)`: Markup stays as it is, anything else is printed and escaped. */
export function escapeHtml(value: Value): Text {
  if (isMarkup(value)) return value
  const printed = str(value)
  const pieces: Str[] = []
  const text = textOf(printed)
  let done = 0
  for (const match of text.matchAll(/[&<>'"]/g)) {
    pieces.push(cut(printed, done, match.index))
    const entity = replacements[match[0]] ?? ''
    const original = cut(printed, match.index, match.index + 1)
    pieces.push(original instanceof Text ? new Text(entity, [0, entity.length], false) : entity)
    done = match.index + 1
  }
  pieces.push(cut(printed, done, text.length))
  return toMarkup(joinAll(pieces))
}

/** `Markup.striptags()` without its last step: tags and comments removed, whitespace runs made one space. */
export function removeTags(text: string): string {
  const parts: string[] = []
  let position = 0
  for (let start = text.indexOf('<'); start !== -1; start = text.indexOf('<', position)) {
    const isComment = text.startsWith('<!--', start)
    const end = text.indexOf(isComment ? '-->' : '>', isComment ? start + 4 : start)
    if (end === -1) break
    parts.push(text.slice(position, start))
    position = end + (isComment ? 3 : 1)
  }
  parts.push(text.slice(position))
  return parts.join('')
}
