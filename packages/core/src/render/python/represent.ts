import { floatText, integerText } from './numbers.ts'
import { derive, isMarked, isStr, markWhole, textOf } from './text.ts'
import { isPrintable } from './unicode.ts'
import { Dict, Float, PythonObject, type Str, Text, Tuple, Undefined, type Value } from './values.ts'

/** `str()` and `repr()` of every value. */

/** Python's `str(value)`. Marked where any text inside is marked. */
export function str(value: Value): Str {
  if (isStr(value)) return value instanceof Text && value.isMarkup ? derive(value.text, value) : value
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number' || typeof value === 'bigint') return integerText(value)
  if (value instanceof Float) return floatText(value.value)
  if (value instanceof Undefined) return ''
  return repr(value)
}

/** Python's `repr(value)`. */
export function repr(value: Value): Str {
  const state = { isMarked: false }
  const text = represent(value, state)
  return state.isMarked ? markWhole(text) : text
}

/** Python's `ascii(value)`: `repr` with everything outside ASCII escaped. */
export function ascii(value: Value): Str {
  const printed = repr(value)
  const text = [...textOf(printed)]
    .map((character) => (character > '\x7f' ? escapeCode(character) : character))
    .join('')
  return derive(text, printed)
}

interface State {
  isMarked: boolean
}

function represent(value: Value, state: State): string {
  if (isStr(value)) {
    if (isMarked(value)) state.isMarked = true
    const quoted = quote(textOf(value))
    return value instanceof Text && value.isMarkup ? `Markup(${quoted})` : quoted
  }
  if (value instanceof Undefined) return 'Undefined'
  if (Array.isArray(value)) return `[${value.map((item) => represent(item, state)).join(', ')}]`
  if (value instanceof Tuple) {
    const items = value.items.map((item) => represent(item, state))
    return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`
  }
  if (value instanceof Dict) {
    const entries = [...value.entries()].map(
      (entry) => `${represent(entry.key, state)}: ${represent(entry.value, state)}`,
    )
    return `{${entries.join(', ')}}`
  }
  if (value instanceof PythonObject) {
    return value.represent((inner) => represent(inner, state))
  }
  return textOf(str(value))
}

/** A string literal in Python's own choice of quotes. */
export function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'"
  let result = mark
  for (const character of text) {
    if (character === mark || character === '\\') result += `\\${character}`
    else if (character === '\n') result += '\\n'
    else if (character === '\r') result += '\\r'
    else if (character === '\t') result += '\\t'
    else if (character >= ' ' && character < '\x7f') result += character
    else result += isPrintable(character) ? character : escapeCode(character)
  }
  return result + mark
}

function escapeCode(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, '0')}`
  return `\\U${code.toString(16).padStart(8, '0')}`
}

/** The name of a value's type, as Python's messages and reprs write it. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number' || typeof value === 'bigint') return 'int'
  if (typeof value === 'string') return 'str'
  if (value instanceof Text) return value.isMarkup ? 'Markup' : 'str'
  if (value instanceof Float) return 'float'
  if (Array.isArray(value)) return 'list'
  if (value instanceof Tuple) return 'tuple'
  if (value instanceof Dict) return 'dict'
  return value instanceof Undefined ? 'Undefined' : value.typeName
}
