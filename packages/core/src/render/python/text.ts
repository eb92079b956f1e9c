import { type Str, Text, type Value } from './values.ts'

/**
 * Strings that remember which of their characters came from a variable.
 *
 * Every operation on strings goes through the functions of this file, so that
 * provenance survives what templates do: cutting keeps the marks of what is
 * kept, joining shifts them, and an operation that builds new text from a
 * marked string (upper, tojson, format) marks all of its result.
 */

export function isStr(value: Value): value is Str {
  return typeof value === 'string' || value instanceof Text
}

export function textOf(str: Str): string {
  return typeof str === 'string' ? str : str.text
}

export function isMarkup(value: Value): value is Text {
  return value instanceof Text && value.isMarkup
}

/** Whether any character came from a marked variable. */
export function isMarked(str: Str): boolean {
  return typeof str !== 'string' && str.valueSpans.length > 0
}

/** The plain string where there is nothing more to say than its characters. */
export function makeStr(text: string, valueSpans: readonly number[], isMarkupText = false): Str {
  return valueSpans.length === 0 && !isMarkupText ? text : new Text(text, valueSpans, isMarkupText)
}

/** All characters marked as coming from a variable. */
export function markWhole(text: string, isMarkupText = false): Str {
  return text === '' && !isMarkupText ? '' : new Text(text, text === '' ? [] : [0, text.length], isMarkupText)
}

/** New text made out of `sources`: marked whole if any of them is marked. */
export function derive(text: string, ...sources: readonly Str[]): Str {
  return sources.some(isMarked) ? markWhole(text) : text
}

/** `str(markup)`: the same characters as a plain `str`. */
export function withoutMarkup(str: Str): Str {
  return isMarkup(str) ? makeStr(str.text, str.valueSpans) : str
}

export function toMarkup(str: Str): Text {
  return typeof str === 'string' ? new Text(str, [], true) : new Text(str.text, str.valueSpans, true)
}

/** The UTF-16 units `[start, end)`. */
export function cut(str: Str, start: number, end: number): Str {
  if (typeof str === 'string') return str.slice(start, end)
  const text = str.text.slice(start, end)
  const spans: number[] = []
  for (let index = 0; index < str.valueSpans.length; index += 2) {
    const from = Math.max(str.valueSpans[index] ?? 0, start)
    if (from >= end) break
    const to = Math.min(str.valueSpans[index + 1] ?? 0, end)
    if (from < to) spans.push(from - start, to - start)
  }
  return makeStr(text, spans, str.isMarkup)
}

function pushSpan(spans: number[], start: number, end: number): void {
  if (spans.length > 0 && spans[spans.length - 1] === start) spans[spans.length - 1] = end
  else spans.push(start, end)
}

/** The characters of all parts in a row; never Markup. Linear. */
export function joinAll(parts: readonly Str[]): Str {
  let text = ''
  let spans: number[] | null = null
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part
      continue
    }
    for (let index = 0; index < part.valueSpans.length; index += 2) {
      spans ??= []
      pushSpan(spans, text.length + (part.valueSpans[index] ?? 0), text.length + (part.valueSpans[index + 1] ?? 0))
    }
    text += part.text
  }
  return spans === null ? text : makeStr(text, spans)
}

const surrogate = /[\ud800-\udfff]/

/** Whether UTF-16 units and code points differ. */
export function hasSurrogates(text: string): boolean {
  return surrogate.test(text)
}

/** The number of code points. */
export function codePointLength(text: string): number {
  if (!hasSurrogates(text)) return text.length
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** The UTF-16 index of a code point index in `[0, length]`. */
export function unitIndex(text: string, codePointIndex: number): number {
  if (!hasSurrogates(text)) return Math.min(codePointIndex, text.length)
  let units = 0
  for (let seen = 0; seen < codePointIndex && units < text.length; seen += 1) {
    units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1
  }
  return units
}

/** The code point index of a UTF-16 index. */
export function codePointIndex(text: string, units: number): number {
  return hasSurrogates(text) ? codePointLength(text.slice(0, units)) : units
}

/** The characters (code points) of a string, each with its marks. */
export function characters(str: Str): Str[] {
  if (typeof str === 'string') return [...str]
  const result: Str[] = []
  let units = 0
  for (const character of str.text) {
    result.push(cut(str, units, units + character.length))
    units += character.length
  }
  return result
}

/** Orders strings by code points, as Python does; UTF-16 order differs above U+FFFF. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a === b) continue
    return isSurrogate(a) || isSurrogate(b) ? compareByCodePoints(left, right) : a - b
  }
  return left.length - right.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

function compareByCodePoints(left: string, right: string): number {
  const a = [...left]
  const b = [...right]
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const difference = (a[index]?.codePointAt(0) ?? 0) - (b[index]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
