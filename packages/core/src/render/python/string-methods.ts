import { bind, signature } from './arguments.ts'
import { escapeHtml } from './markup.ts'
import { toIndex } from './numbers.ts'
import { iterate, repeatStr, sliceBounds } from './operators.ts'
import { typeError, unsupported, valueError } from './python-error.ts'
import { typeName } from './represent.ts'
import {
  characters,
  codePointIndex,
  codePointLength,
  cut,
  derive,
  isMarkup,
  isStr,
  joinAll,
  textOf,
  toMarkup,
  unitIndex,
} from './text.ts'
import {
  capitalize,
  caseFold,
  isAlphabetic,
  isCased,
  isDecimal,
  isDigit,
  isLowerCharacter,
  isNumeric,
  isPrintable,
  isTitleCharacter,
  isUpperCharacter,
  isWhitespace,
  lineEndPattern,
  swapCase,
  titleCase,
  whitespaceClass,
} from './unicode.ts'
import { type KeywordArguments, type Str, Tuple, type Value } from './values.ts'

/** The methods of Python's `str`. On Markup, text that comes in is escaped and the result is Markup. */
export type StringMethod = (self: Str, positional: readonly Value[], keywords: KeywordArguments) => Value

function method(
  name: string,
  parameters: readonly string[],
  implementation: (self: Str, ...bound: (Value | undefined)[]) => Value,
): [string, StringMethod] {
  const declared = signature(name, ...parameters)
  return [
    name,
    (self, positional, keywords) => {
      const result = implementation(self, ...bind(declared, positional, keywords))
      return isMarkup(self) ? asMarkup(result) : result
    },
  ]
}

function asMarkup(value: Value): Value {
  if (isStr(value)) return toMarkup(value)
  if (Array.isArray(value)) return value.map(asMarkup)
  return value instanceof Tuple ? new Tuple(value.items.map(asMarkup)) : value
}

function textArgument(value: Value | undefined, what: string): Str {
  if (value !== undefined && isStr(value)) return value
  throw typeError(`${what} must be str, not ${typeName(value ?? null)}`)
}

const trimStart = new RegExp(`^[${whitespaceClass}]+`)

/** `strip` and its one-sided siblings. `chars` null or absent strips whitespace. */
export function strip(self: Str, chars: Value | undefined, sides: 'both' | 'left' | 'right'): Str {
  const text = textOf(self)
  let start = 0
  let end = text.length
  if (chars === undefined || chars === null) {
    if (sides !== 'right') start = trimStart.exec(text)?.[0].length ?? 0
    if (sides !== 'left') end = lastNonSpace(text, start)
    return cut(self, start, end)
  }
  if (!isStr(chars)) throw typeError('strip arg must be None or str')
  const set = new Set(textOf(chars))
  if (sides !== 'right') {
    for (let at = codeAt(text, start); start < end && set.has(at); at = codeAt(text, start)) start += at.length
  }
  if (sides !== 'left') {
    for (let at = codeBefore(text, end); end > start && set.has(at); at = codeBefore(text, end)) end -= at.length
  }
  return cut(self, start, end)
}

/** A loop, because a pattern anchored at the end is quadratic in long runs of spaces. */
function lastNonSpace(text: string, start: number): number {
  let end = text.length
  while (end > start && isWhitespace(text[end - 1] ?? '')) end -= 1
  return end
}

function codeAt(text: string, index: number): string {
  return String.fromCodePoint(text.codePointAt(index) ?? 0)
}

function codeBefore(text: string, end: number): string {
  const isPair = end >= 2 && (text.codePointAt(end - 2) ?? 0) > 0xffff
  return text.slice(end - (isPair ? 2 : 1), end)
}

/** `split(separator, limit)`; without a separator, at runs of whitespace. */
function split(self: Str, separator: Value | undefined, limit: Value | undefined): Str[] {
  const max =
    limit === undefined ? -1 : toIndex(limit, `'${typeName(limit)}' object cannot be interpreted as an integer`)
  if (separator === undefined || separator === null) return splitAtSpace(self, max)
  const mark = textOf(textArgument(separator, 'separator'))
  if (mark === '') throw valueError('empty separator')
  const text = textOf(self)
  const parts: Str[] = []
  let start = 0
  for (let at = text.indexOf(mark); at !== -1 && parts.length !== max; at = text.indexOf(mark, start)) {
    parts.push(cut(self, start, at))
    start = at + mark.length
  }
  parts.push(cut(self, start, text.length))
  return parts
}

const spaceRun = new RegExp(`[${whitespaceClass}]+`, 'g')

function splitAtSpace(self: Str, max: number): Str[] {
  const text = textOf(self)
  const parts: Str[] = []
  let start = trimStart.exec(text)?.[0].length ?? 0
  for (const run of text.matchAll(spaceRun)) {
    if (run.index < start) continue
    if (parts.length === max) break
    parts.push(cut(self, start, run.index))
    start = run.index + run[0].length
  }
  if (start < text.length) parts.push(cut(self, start, text.length))
  return parts
}

function splitFromRight(self: Str, separator: Value | undefined, limit: Value | undefined): Str[] {
  const max =
    limit === undefined ? -1 : toIndex(limit, `'${typeName(limit)}' object cannot be interpreted as an integer`)
  const text = textOf(self)
  const parts: Str[] = []
  if (separator === undefined || separator === null) {
    let end = lastNonSpace(text, 0)
    const first = trimStart.exec(text)?.[0].length ?? 0
    while (end > first && parts.length !== max) {
      let start = end
      while (start > first && !isWhitespace(text[start - 1] ?? '')) start -= 1
      parts.push(cut(self, start, end))
      end = lastNonSpace(text.slice(0, start), 0)
    }
    if (end > first) parts.push(cut(self, 0, end))
    return parts.reverse()
  }
  const mark = textOf(textArgument(separator, 'separator'))
  if (mark === '') throw valueError('empty separator')
  let end = text.length
  while (parts.length !== max) {
    const at = end < mark.length ? -1 : text.lastIndexOf(mark, end - mark.length)
    if (at === -1) break
    parts.push(cut(self, at + mark.length, end))
    end = at
  }
  parts.push(cut(self, 0, end))
  return parts.reverse()
}

/** `splitlines(keepends)`. */
export function splitLines(self: Str, keepEnds = false): Str[] {
  const text = textOf(self)
  const lines: Str[] = []
  let start = 0
  for (const end of text.matchAll(lineEndPattern)) {
    lines.push(cut(self, start, keepEnds ? end.index + end[0].length : end.index))
    start = end.index + end[0].length
  }
  if (start < text.length) lines.push(cut(self, start, text.length))
  return lines
}

/** `replace(old, new, count)`; a negative count replaces all. */
export function replace(self: Str, old: string, replacement: Str, count: number): Str {
  const text = textOf(self)
  const pieces: Str[] = []
  let start = 0
  let done = 0
  if (old === '') {
    const limit = count < 0 ? Number.POSITIVE_INFINITY : count
    for (const character of characters(self)) {
      if (done < limit) pieces.push(replacement)
      done += 1
      pieces.push(character)
    }
    if (done < limit) pieces.push(replacement)
    return joinAll(pieces)
  }
  for (let at = text.indexOf(old); at !== -1 && done !== count; at = text.indexOf(old, start)) {
    pieces.push(cut(self, start, at), replacement)
    start = at + old.length
    done += 1
  }
  if (start === 0 && done === 0) return self
  pieces.push(cut(self, start, text.length))
  return joinAll(pieces)
}

/** The window `[start, end)` in UTF-16 units that the arguments of `find`, `count` and `startswith` select; null if it is empty by their order. */
function window(text: string, start: Value | undefined, end: Value | undefined): [number, number] | null {
  const size = codePointLength(text)
  const bounds = sliceBounds(size, start ?? null, end ?? null, null)
  const wanted = start === undefined || start === null ? 0 : toIndex(start)
  if (bounds.start > bounds.stop || wanted > size) return null
  return [unitIndex(text, bounds.start), unitIndex(text, bounds.stop)]
}

function find(
  self: Str,
  needle: Value | undefined,
  start: Value | undefined,
  end: Value | undefined,
  isLast: boolean,
): number {
  const text = textOf(self)
  const wanted = textOf(textArgument(needle, 'find() argument'))
  const bounds = window(text, start, end)
  if (bounds === null) return -1
  const inside = text.slice(bounds[0], bounds[1])
  const at = isLast ? inside.lastIndexOf(wanted) : inside.indexOf(wanted)
  return at === -1 ? -1 : codePointIndex(text, bounds[0] + at)
}

function count(self: Str, needle: Value | undefined, start: Value | undefined, end: Value | undefined): number {
  const text = textOf(self)
  const wanted = textOf(textArgument(needle, 'count() argument'))
  const bounds = window(text, start, end)
  if (bounds === null) return 0
  const inside = text.slice(bounds[0], bounds[1])
  return wanted === '' ? codePointLength(inside) + 1 : inside.split(wanted).length - 1
}

function hasAffix(
  self: Str,
  affix: Value | undefined,
  start: Value | undefined,
  end: Value | undefined,
  test: (text: string, affix: string) => boolean,
): boolean {
  const text = textOf(self)
  const bounds = window(text, start, end)
  const candidates = affix instanceof Tuple ? affix.items : [affix ?? null]
  return candidates.some((candidate) => {
    if (!isStr(candidate)) {
      throw typeError(`startswith first arg must be str or a tuple of str, not ${typeName(candidate)}`)
    }
    return bounds !== null && test(text.slice(bounds[0], bounds[1]), textOf(candidate))
  })
}

function partition(self: Str, separator: Value | undefined, isLast: boolean): Tuple {
  const mark = textOf(textArgument(separator, 'separator'))
  if (mark === '') throw valueError('empty separator')
  const text = textOf(self)
  const at = isLast ? text.lastIndexOf(mark) : text.indexOf(mark)
  if (at === -1) return new Tuple(isLast ? ['', '', self] : [self, '', ''])
  return new Tuple([cut(self, 0, at), cut(self, at, at + mark.length), cut(self, at + mark.length, text.length)])
}

function pad(self: Str, width: Value | undefined, fill: Value | undefined, side: 'left' | 'right' | 'center'): Str {
  const filler = fill === undefined ? ' ' : textArgument(fill, 'The fill character')
  if (codePointLength(textOf(filler)) !== 1) throw typeError('The fill character must be exactly one character long')
  const wanted = toIndex(width ?? null, `'${typeName(width ?? null)}' object cannot be interpreted as an integer`)
  const missing = wanted - codePointLength(textOf(self))
  if (missing <= 0) return self
  // CPython puts the odd space on the left only when both the padding and the width are odd.
  const centered = Math.floor(missing / 2) + (missing & wanted & 1)
  const before = side === 'left' ? 0 : side === 'right' ? missing : centered
  return joinAll([repeatStr(filler, before), self, repeatStr(filler, missing - before)])
}

/** `str.center(width)`. */
export function center(self: Str, width: Value): Str {
  return pad(self, width, undefined, 'center')
}

/** `separator.join(items)`: every item must be a string. */
function join(self: Str, iterable: Value | undefined): Str {
  const iterator = iterate(iterable ?? null)
  const parts: Str[] = []
  for (let step = iterator.next(); step.done !== true; step = iterator.next()) {
    if (!isStr(step.value)) {
      throw typeError(`sequence item ${parts.length >> 1}: expected str instance, ${typeName(step.value)} found`)
    }
    if (parts.length > 0) parts.push(self)
    parts.push(isMarkup(self) ? escapeHtml(step.value) : step.value)
  }
  return joinAll(parts)
}

function expandTabs(self: Str, size: Value | undefined): Str {
  const width = size === undefined ? 8 : toIndex(size)
  let column = 0
  const pieces = characters(self).map((character) => {
    const plain = textOf(character)
    if (plain === '\t') {
      const spaces = width > 0 ? width - (column % width) : 0
      column += spaces
      return ' '.repeat(spaces)
    }
    column = plain === '\n' || plain === '\r' ? 0 : column + 1
    return character
  })
  return joinAll(pieces)
}

function zeroFill(self: Str, width: Value | undefined): Str {
  const text = textOf(self)
  const missing = toIndex(width ?? null) - codePointLength(text)
  if (missing <= 0) return self
  const signLength = /^[+-]/.test(text) ? 1 : 0
  return joinAll([cut(self, 0, signLength), '0'.repeat(missing), cut(self, signLength, text.length)])
}

function every(self: Str, test: (character: string) => boolean): boolean {
  const text = textOf(self)
  if (text === '') return false
  for (const character of text) if (!test(character)) return false
  return true
}

/** `islower` and `isupper`: at least one cased character, and none of another case. */
export function hasOnlyCase(text: string, wanted: 'lower' | 'upper'): boolean {
  const isWanted = wanted === 'lower' ? isLowerCharacter : isUpperCharacter
  let found = false
  for (const character of text) {
    if (isWanted(character)) found = true
    else if (isCased(character)) return false
  }
  return found
}

function isTitle(text: string): boolean {
  let previousIsCased = false
  let found = false
  for (const character of text) {
    const isCapital = isUpperCharacter(character) || isTitleCharacter(character)
    if (isCapital ? previousIsCased : isLowerCharacter(character) && !previousIsCased) return false
    previousIsCased = isCased(character)
    found ||= previousIsCased
  }
  return found
}

const isAlphanumeric = (character: string): boolean => isAlphabetic(character) || isNumeric(character)
const unary =
  (change: (text: string) => string) =>
  (self: Str): Value =>
    derive(change(textOf(self)), self)
const filler = (self: Str, fill: Value | undefined): Value | undefined =>
  fill !== undefined && isMarkup(self) ? escapeHtml(fill) : fill

/** By name; `format` and `format_map` stand in the interpreter, which guards their fields. */
export const stringMethods: ReadonlyMap<string, StringMethod> = new Map([
  method('strip', ['/', 'chars?'], (self, chars) => strip(self, chars, 'both')),
  method('lstrip', ['/', 'chars?'], (self, chars) => strip(self, chars, 'left')),
  method('rstrip', ['/', 'chars?'], (self, chars) => strip(self, chars, 'right')),
  method('split', ['sep?', 'maxsplit?'], (self, separator, limit) => split(self, separator, limit)),
  method('rsplit', ['sep?', 'maxsplit?'], (self, separator, limit) => splitFromRight(self, separator, limit)),
  method('splitlines', ['keepends?'], (self, keepEnds = false) => splitLines(self, toIndex(keepEnds) !== 0)),
  method('replace', ['/', 'old', 'new', 'count?'], (self, old, replacement, limit) => {
    const inserted = textArgument(replacement, 'replace() argument 2')
    const wanted = textOf(textArgument(old, 'replace() argument 1'))
    return replace(
      self,
      wanted,
      isMarkup(self) ? escapeHtml(inserted) : inserted,
      limit === undefined ? -1 : toIndex(limit),
    )
  }),
  method('startswith', ['/', 'prefix', 'start?', 'end?'], (self, affix, start, end) =>
    hasAffix(self, affix, start, end, (text, prefix) => text.startsWith(prefix)),
  ),
  method('endswith', ['/', 'suffix', 'start?', 'end?'], (self, affix, start, end) =>
    hasAffix(self, affix, start, end, (text, suffix) => text.endsWith(suffix)),
  ),
  method('find', ['/', 'sub', 'start?', 'end?'], (self, needle, start, end) => find(self, needle, start, end, false)),
  method('rfind', ['/', 'sub', 'start?', 'end?'], (self, needle, start, end) => find(self, needle, start, end, true)),
  method('index', ['/', 'sub', 'start?', 'end?'], (self, needle, start, end) =>
    found(find(self, needle, start, end, false)),
  ),
  method('rindex', ['/', 'sub', 'start?', 'end?'], (self, needle, start, end) =>
    found(find(self, needle, start, end, true)),
  ),
  method('count', ['/', 'sub', 'start?', 'end?'], count),
  method('partition', ['/', 'sep'], (self, separator) => partition(self, separator, false)),
  method('rpartition', ['/', 'sep'], (self, separator) => partition(self, separator, true)),
  method('removeprefix', ['/', 'prefix'], (self, prefix) => {
    const affix = textOf(textArgument(prefix, 'removeprefix() argument'))
    const text = textOf(self)
    return text.startsWith(affix) ? cut(self, affix.length, text.length) : self
  }),
  method('removesuffix', ['/', 'suffix'], (self, suffix) => {
    const affix = textOf(textArgument(suffix, 'removesuffix() argument'))
    const text = textOf(self)
    return affix !== '' && text.endsWith(affix) ? cut(self, 0, text.length - affix.length) : self
  }),
  method('join', ['/', 'iterable'], join),
  method('ljust', ['/', 'width', 'fillchar?'], (self, width, fill) => pad(self, width, filler(self, fill), 'left')),
  method('rjust', ['/', 'width', 'fillchar?'], (self, width, fill) => pad(self, width, filler(self, fill), 'right')),
  method('center', ['/', 'width', 'fillchar?'], (self, width, fill) => pad(self, width, filler(self, fill), 'center')),
  method('zfill', ['/', 'width'], zeroFill),
  method('expandtabs', ['tabsize?'], expandTabs),
  method(
    'upper',
    ['/'],
    unary((text) => text.toUpperCase()),
  ),
  method(
    'lower',
    ['/'],
    unary((text) => text.toLowerCase()),
  ),
  method('title', ['/'], unary(titleCase)),
  method('capitalize', ['/'], unary(capitalize)),
  method('swapcase', ['/'], unary(swapCase)),
  method('casefold', ['/'], unary(caseFold)),
  method('isalpha', ['/'], (self) => every(self, isAlphabetic)),
  method('isdecimal', ['/'], (self) => every(self, isDecimal)),
  method('isdigit', ['/'], (self) => every(self, isDigit)),
  method('isnumeric', ['/'], (self) => every(self, isNumeric)),
  method('isalnum', ['/'], (self) => every(self, isAlphanumeric)),
  method('isspace', ['/'], (self) => every(self, isWhitespace)),
  method('isprintable', ['/'], (self) => textOf(self) === '' || every(self, isPrintable)),
  method('isascii', ['/'], (self) => !/[^\x00-\x7f]/.test(textOf(self))),
  method('islower', ['/'], (self) => hasOnlyCase(textOf(self), 'lower')),
  method('isupper', ['/'], (self) => hasOnlyCase(textOf(self), 'upper')),
  method('istitle', ['/'], (self) => isTitle(textOf(self))),
  method('isidentifier', ['/'], (self) => /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(textOf(self))),
  method('encode', ['encoding?', 'errors?'], () => {
    throw unsupported('bytes')
  }),
  method('translate', ['/', 'table'], () => {
    throw unsupported('str.translate')
  }),
  method('maketrans', ['/', 'x', 'y?', 'z?'], () => {
    throw unsupported('str.maketrans')
  }),
])

function found(index: number): number {
  if (index === -1) throw valueError('substring not found')
  return index
}
