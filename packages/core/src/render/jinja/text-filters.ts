import { getAttribute } from '../python/attributes.ts'
import { jsonDumps, jsonDumpsOptions } from '../python/json-dumps.ts'
import { escapeHtml, removeTags } from '../python/markup.ts'
import { fixedDigits } from '../python/number-format.ts'
import { asDouble, toIndex } from '../python/numbers.ts'
import { binary, call, isTrue, length, order, slice, toList, tryIterate } from '../python/operators.ts'
import { parseFloatText } from '../python/parse-number.ts'
import { formatPercent } from '../python/percent-format.ts'
import { filterArgumentError, PythonError, typeError, unsupported, valueError } from '../python/python-error.ts'
import { repr, str, typeName } from '../python/represent.ts'
import { center, replace, splitLines, strip } from '../python/string-methods.ts'
import {
  derive,
  isMarked,
  isMarkup,
  isStr,
  joinAll,
  markWhole,
  textOf,
  toMarkup,
  withoutMarkup,
} from '../python/text.ts'
import { capitalize, whitespaceClass } from '../python/unicode.ts'
import { Dict, type KeywordArguments, noKeywords, type Str, Tuple, Undefined, type Value } from '../python/values.ts'
import { type FilterFunction, filter } from './filter-signature.ts'
import { wrapText } from './word-wrap.ts'

/** Filters that make text. */

/** `soft_str`: a string as it is, Markup included; anything else printed. */
function softStr(value: Value): Str {
  return isStr(value) ? value : str(value)
}

/** A change of case keeps Markup Markup. */
function changed(value: Value, change: (text: string) => string): Str {
  const source = softStr(value)
  const result = derive(change(textOf(source)), source)
  return isMarkup(source) ? toMarkup(result) : result
}

const wordStart = new RegExp(`([-${whitespaceClass}({\\[<]+)`)

/** Jinja's own title case: a word starts after space, a hyphen or an opening bracket. */
function title(text: string): string {
  return text
    .split(wordStart)
    .map((part) => {
      const [first = ''] = part
      const head = (part.codePointAt(0) ?? 0) > 0xffff ? part.slice(0, 2) : first
      return head.toUpperCase() + part.slice(head.length).toLowerCase()
    })
    .join('')
}

function indent(value: Value, width: Value, first: boolean, blank: boolean): Value {
  const isEscaping = isMarkup(value)
  const plainIndention: Str = isStr(width) ? width : ' '.repeat(Math.max(0, toIndex(width)))
  const indention = isEscaping ? toMarkup(plainIndention) : plainIndention
  const newline: Str = '\n'
  const text = binary('+', value, newline)
  if (!isStr(text)) throw typeError(`indent() needs text, not ${typeName(value)}`)
  const lines = splitLines(text)
  const parts: Str[] = []
  for (const [index, line] of lines.entries()) {
    if (index > 0) parts.push(newline)
    if (index > 0 && (blank || textOf(line) !== '')) parts.push(indention)
    parts.push(line)
  }
  const joined = joinAll(first ? [indention, ...parts] : parts)
  return isEscaping ? toMarkup(joined) : joined
}

function truncate(value: Value, size: Value, killWords: boolean, end: Value, leeway: Value): Value {
  const endLength = length(end)
  if (order('<', size, endLength)) throw new PythonError('AssertionError', `expected length >= ${endLength}`)
  if (order('<', leeway, 0)) throw new PythonError('AssertionError', 'expected leeway >= 0')
  if (order('<=', length(value), binary('+', size, leeway))) return value
  const kept = slice(value, null, binary('-', size, endLength), null)
  if (killWords) return binary('+', kept, end)
  const [head = ''] = toList(call(getAttribute(kept, 'rsplit'), [' ', 1], noKeywords))
  return binary('+', head, end)
}

function fileSize(value: Value, isBinary: boolean): string {
  const bytes = isStr(value) ? parseFloatText(textOf(value)) : asDouble(value)
  if (bytes === null) throw typeError(`float() argument must be a string or a real number, not '${typeName(value)}'`)
  const base = isBinary ? 1024 : 1000
  if (bytes === 1) return '1 Byte'
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`
  const prefixes = isBinary
    ? ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB', 'YiB']
    : ['kB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB', 'YB']
  const index = prefixes.findIndex((_, position) => bytes < base ** (position + 2))
  const position = index === -1 ? prefixes.length - 1 : index
  return `${fixedDigits((base * bytes) / base ** (position + 2), 1)} ${prefixes[position] ?? ''}`
}

/** `urllib.parse.quote`: UTF-8 bytes, all but unreserved characters escaped. */
function urlQuote(value: Value, isQuery: boolean): string {
  const text = textOf(str(value))
  let result = ''
  for (const byte of new TextEncoder().encode(text)) {
    const character = String.fromCharCode(byte)
    if (/[A-Za-z0-9_.~-]/.test(character) || (character === '/' && !isQuery)) result += character
    else if (character === ' ' && isQuery) result += '+'
    else result += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return result
}

function urlEncode(value: Value): Str {
  if (isStr(value)) return derive(urlQuote(value, false), value)
  const items = value instanceof Dict ? [...value.entries()].map(({ key, value: item }) => [key, item]) : pairsOf(value)
  if (items === null) return urlQuote(value, false)
  const text = items.map(([key = null, item = null]) => `${urlQuote(key, true)}=${urlQuote(item, true)}`).join('&')
  return derive(text, ...items.flat().filter(isStr))
}

function pairsOf(value: Value): Value[][] | null {
  if (tryIterate(value) === null) return null
  return toList(value).map((pair) => {
    const items = toList(pair)
    if (items.length !== 2) throw valueError(`not enough values to unpack (expected 2, got ${items.length})`)
    return items
  })
}

const invalidAttributeKey = /[ \t\n\r\f\v/>=]/

function xmlAttributes(value: Value, autospace: boolean): Str {
  const items = toList(call(getAttribute(value, 'items'), [], noKeywords))
  const parts: Str[] = []
  for (const item of items) {
    const [key = null, attribute = null] = item instanceof Tuple ? item.items : []
    if (attribute === null || attribute instanceof Undefined) continue
    if (!isStr(key)) throw typeError(`expected string or bytes-like object, got '${typeName(key)}'`)
    if (invalidAttributeKey.test(textOf(key)))
      throw valueError(`Invalid character in attribute name: ${textOf(repr(key))}`)
    if (parts.length > 0 || autospace) parts.push(' ')
    parts.push(withoutMarkup(escapeHtml(key)), '="', withoutMarkup(escapeHtml(attribute)), '"')
  }
  return joinAll(parts)
}

/** Text that holds no entity needs no unescaping; other text is refused rather than guessed at. */
function stripTags(value: Value): Str {
  const source = str(value)
  const text = removeTags(textOf(source))
  const words = text.split(new RegExp(`[${whitespaceClass}]+`)).filter((word) => word !== '')
  const collapsed = words.join(' ')
  if (/&(?:#|[A-Za-z])/.test(collapsed)) throw unsupported('striptags on text with HTML entities')
  return derive(collapsed, source)
}

function formatted(template: Value, positional: readonly Value[], keywords: KeywordArguments): Value {
  if (positional.length > 0 && keywords.size > 0) {
    throw filterArgumentError("can't handle positional and keyword arguments at the same time")
  }
  return formatPercent(softStr(template), keywords.size > 0 ? keywords : new Tuple(positional))
}

function toJson(
  value: Value,
  ensureAscii: Value = false,
  indentation: Value = null,
  separators: Value = null,
  sortKeys: Value = false,
): Value {
  const pair = separators === null ? null : toList(separators)
  // Python looks at the indentation only where there is something to indent.
  const indent = isStr(value) ? null : indentation
  const options = jsonDumpsOptions(isTrue(ensureAscii), indent, pair, isTrue(sortKeys))
  const layout = [indent, ...(pair ?? [])].filter((part) => isStr(part))
  const json = jsonDumps(value, options)
  return layout.some(isMarked) ? markWhole(textOf(json)) : json
}

function unsupportedFilter(name: string): [string, FilterFunction] {
  return [
    name,
    () => {
      throw unsupported(`The filter ${name}`)
    },
  ]
}

const wordPattern = /[\p{L}\p{N}_]+/gu

/** By name. */
export const textFilters: ReadonlyMap<string, FilterFunction> = new Map([
  filter('tojson', ['x', 'ensure_ascii?', 'indent?', 'separators?', 'sort_keys?'], toJson),
  filter('string', ['/', 's'], softStr),
  filter('safe', ['value'], (value) => (isMarkup(value) ? value : toMarkup(str(value)))),
  filter('escape', ['/', 's'], escapeHtml),
  filter('e', ['/', 's'], escapeHtml),
  filter('forceescape', ['value'], (value) => escapeHtml(str(value))),
  filter('trim', ['value', 'chars?'], (value, chars) => strip(softStr(value), chars, 'both')),
  filter('upper', ['s'], (value) => changed(value, (text) => text.toUpperCase())),
  filter('lower', ['s'], (value) => changed(value, (text) => text.toLowerCase())),
  filter('capitalize', ['s'], (value) => changed(value, capitalize)),
  filter('title', ['s'], (value) => {
    const source = softStr(value)
    return derive(title(textOf(source)), source)
  }),
  filter('center', ['value', 'width?'], (value, width = 80) => {
    const source = softStr(value)
    const centered = center(source, width)
    return isMarkup(source) ? toMarkup(centered) : centered
  }),
  filter('replace', ['s', 'old', 'new', 'count?'], (value, old = null, replacement = null, count = null) =>
    replace(str(value), textOf(str(old)), str(replacement), count === null ? -1 : toIndex(count)),
  ),
  filter('indent', ['s', 'width?', 'first?', 'blank?'], (value, width = 4, first = false, blank = false) =>
    indent(value, width, isTrue(first), isTrue(blank)),
  ),
  filter(
    'truncate',
    ['s', 'length?', 'killwords?', 'end?', 'leeway?'],
    (value, size = 255, killWords = false, end = '...', leeway = null) =>
      truncate(value, size, isTrue(killWords), end, leeway === null ? 5 : leeway),
  ),
  filter(
    'wordwrap',
    ['s', 'width?', 'break_long_words?', 'wrapstring?', 'break_on_hyphens?'],
    (value, width = 79, breakLong = true, wrapString = null, onHyphens = true) => {
      if (!isStr(value) || (wrapString !== null && !isStr(wrapString)))
        throw typeError(`wordwrap() needs text, not ${typeName(value)}`)
      const options = { breaksLongWords: isTrue(breakLong), breaksOnHyphens: isTrue(onHyphens) }
      const separator = wrapString === null ? '\n' : textOf(wrapString)
      const lines = splitLines(value).map((line) => wrapText(textOf(line), toIndex(width), options).join(separator))
      return derive(lines.join(separator), value, wrapString ?? '')
    },
  ),
  filter('wordcount', ['s'], (value) => textOf(softStr(value)).match(wordPattern)?.length ?? 0),
  filter('striptags', ['value'], stripTags),
  filter('filesizeformat', ['value', 'binary?'], (value, isBinary = false) => fileSize(value, isTrue(isBinary))),
  filter('urlencode', ['value'], urlEncode),
  filter('xmlattr', ['d', 'autospace?'], (value, autospace = true) => xmlAttributes(value, isTrue(autospace))),
  ['format', ([template = null, ...positional], keywords) => formatted(template, positional, keywords)],
  unsupportedFilter('urlize'),
  unsupportedFilter('pprint'),
])
