import { type Integer, integer } from '../python/numbers.ts'
import { whitespaceClass } from '../python/unicode.ts'
import { TemplateSyntaxError } from './syntax.ts'

/**
 * Template source to tokens, with the settings of chat templates: `trim_blocks`
 * (the newline after a block tag goes), `lstrip_blocks` (blanks before a block
 * tag that starts its line go), no trailing newline. A `-` inside a tag strips
 * all whitespace on its side, a `+` keeps all of it.
 */
export type Token =
  | { readonly kind: 'data'; readonly text: string; readonly line: number }
  | { readonly kind: 'variable-begin' | 'variable-end' | 'block-begin' | 'block-end' | 'end'; readonly line: number }
  | { readonly kind: 'name' | 'string' | 'operator'; readonly text: string; readonly line: number }
  | { readonly kind: 'integer'; readonly value: Integer; readonly line: number }
  | { readonly kind: 'float'; readonly value: number; readonly line: number }

const space = `[${whitespaceClass}]`
const pattern = (source: string, flags = 'y'): RegExp => new RegExp(source, flags)

const tagStart = pattern(`\\{%[-+]?${space}*raw${space}*(?:-%\\}|%\\})|\\{%|\\{\\{|\\{#`, 'g')
const rawStart = pattern(`\\{%([-+]?)${space}*raw${space}*(?:-%\\}${space}*|%\\})`)
const rawEnd = pattern(`\\{%([-+]?)${space}*endraw${space}*(?:\\+%\\}|-%\\}${space}*|%\\}\\n?)`, 'g')
const commentEnd = pattern(`\\+#\\}|-#\\}${space}*|#\\}\\n?`, 'g')
const blockEnd = pattern(`\\+%\\}|-%\\}${space}*|%\\}\\n?`)
const variableEnd = pattern(`-\\}\\}${space}*|\\}\\}`)
const whitespace = pattern(`${space}+`)
const onlyWhitespace = pattern(`^${space}+$`, '')
const float = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy
const whole = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy
const name = /[\p{L}\p{N}\p{Mn}\p{Mc}\p{Pc}\u{2118}\u{212e}]+/uy
const identifier = /^[\p{XID_Start}_]\p{XID_Continue}*$/u
const string = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/sy
const operator = /\*\*|\/\/|==|!=|>=|<=|[-+*/%~[\](){}<>=.:|,;]/y

const closing: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' }

/** Throws TemplateSyntaxError. Linear. */
export function tokenize(source: string): Token[] {
  const normalized = source.replace(/\r\n?/g, '\n')
  return new Lexer(normalized.endsWith('\n') ? normalized.slice(0, -1) : normalized).run()
}

class Lexer {
  private readonly source: string
  private readonly tokens: Token[] = []
  private position = 0
  private line = 1
  /** Whether the last thing read ended in a newline, so that blanks that follow stand at a line's start. */
  private isLineStart = true

  constructor(source: string) {
    this.source = source
  }

  run(): Token[] {
    while (this.position < this.source.length) this.readDataAndTag()
    this.tokens.push({ kind: 'end', line: this.line })
    return this.tokens
  }

  private readDataAndTag(): void {
    tagStart.lastIndex = this.position
    const start = tagStart.exec(this.source)
    if (start === null) {
      this.pushData(this.source.slice(this.position))
      this.position = this.source.length
      return
    }
    const opening = start[0].slice(0, 2)
    const isRaw = start[0].length > 2
    const sign = isRaw ? (/^\{%([-+]?)/.exec(start[0])?.[1] ?? '') : this.signAt(start.index + 2)
    this.pushData(this.trimmedData(this.source.slice(this.position, start.index), sign, opening !== '{{'))
    this.advance(start.index)
    if (isRaw) this.readRaw()
    else if (opening === '{#') this.readComment(start.index + 2 + sign.length)
    else this.readTag(opening === '{{' ? 'variable' : 'block', start.index + 2 + sign.length)
  }

  private signAt(index: number): string {
    const sign = this.source[index]
    return sign === '-' || sign === '+' ? sign : ''
  }

  /** The text before a tag, as the tag's sign and `lstrip_blocks` leave it. */
  private trimmedData(text: string, sign: string, isBlock: boolean): string {
    if (sign === '-') return trimEnd(text)
    if (sign === '+' || !isBlock) return text
    const lineStart = text.lastIndexOf('\n') + 1
    if (lineStart === 0 && !this.isLineStart) return text
    return onlyWhitespace.test(text.slice(lineStart)) ? text.slice(0, lineStart) : text
  }

  private pushData(text: string): void {
    if (text !== '') this.tokens.push({ kind: 'data', text, line: this.line })
  }

  /** Moves on to `end` and keeps count of the lines. */
  private advance(end: number): void {
    for (
      let at = this.source.indexOf('\n', this.position);
      at !== -1 && at < end;
      at = this.source.indexOf('\n', at + 1)
    ) {
      this.line += 1
    }
    if (end > this.position) this.isLineStart = this.source[end - 1] === '\n'
    this.position = end
  }

  private readRaw(): void {
    rawStart.lastIndex = this.position
    this.advance(this.position + (rawStart.exec(this.source)?.[0].length ?? 0))
    rawEnd.lastIndex = this.position
    const end = rawEnd.exec(this.source)
    if (end === null) {
      if (this.position < this.source.length) throw new TemplateSyntaxError('Missing end of raw directive', this.line)
      return
    }
    this.pushData(this.trimmedData(this.source.slice(this.position, end.index), end[1] ?? '', true))
    this.advance(end.index + end[0].length)
  }

  private readComment(start: number): void {
    this.advance(start)
    commentEnd.lastIndex = start
    const end = commentEnd.exec(this.source)
    if (end === null) {
      if (start < this.source.length) throw new TemplateSyntaxError('Missing end of comment tag', this.line)
      return
    }
    this.advance(end.index + end[0].length)
  }

  private readTag(kind: 'variable' | 'block', start: number): void {
    this.tokens.push({ kind: `${kind}-begin`, line: this.line })
    this.advance(start)
    const end = kind === 'block' ? blockEnd : variableEnd
    const open: string[] = []
    while (this.position < this.source.length) {
      const ending = open.length === 0 ? this.match(end) : null
      if (ending !== null) {
        this.tokens.push({ kind: `${kind}-end`, line: this.line })
        this.advance(this.position + ending.length)
        return
      }
      this.readToken(open)
    }
  }

  private match(matcher: RegExp): string | null {
    matcher.lastIndex = this.position
    return matcher.exec(this.source)?.[0] ?? null
  }

  private readToken(open: string[]): void {
    const { line } = this
    const blank = this.match(whitespace)
    if (blank !== null) {
      this.advance(this.position + blank.length)
      return
    }
    const floatText = this.match(float)
    const wholeText = floatText === null ? this.match(whole) : null
    const nameText = floatText === null && wholeText === null ? this.match(name) : null
    const text = floatText ?? wholeText ?? nameText ?? this.match(string) ?? this.match(operator)
    if (text === null) {
      throw new TemplateSyntaxError(`unexpected char '${this.source[this.position] ?? ''}' at ${this.position}`, line)
    }
    this.advance(this.position + text.length)
    if (floatText !== null) this.tokens.push({ kind: 'float', value: Number(text.replaceAll('_', '')), line })
    else if (wholeText !== null)
      this.tokens.push({ kind: 'integer', value: integer(BigInt(text.replaceAll('_', ''))), line })
    else if (nameText !== null) {
      if (!identifier.test(text)) throw new TemplateSyntaxError('Invalid character in identifier', line)
      this.tokens.push({ kind: 'name', text, line })
    } else if (text[0] === "'" || text[0] === '"') {
      this.tokens.push({ kind: 'string', text: unescapeString(text.slice(1, -1), line), line })
    } else {
      this.balance(text, open)
      this.tokens.push({ kind: 'operator', text, line })
    }
  }

  private balance(text: string, open: string[]): void {
    const expected = closing[text]
    if (expected !== undefined) open.push(expected)
    if (text !== '}' && text !== ')' && text !== ']') return
    const wanted = open.pop()
    if (wanted === undefined) throw new TemplateSyntaxError(`unexpected '${text}'`, this.line)
    if (wanted !== text) throw new TemplateSyntaxError(`unexpected '${text}', expected '${wanted}'`, this.line)
  }
}

function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && onlyWhitespace.test(text[end - 1] ?? '')) end -= 1
  return text.slice(0, end)
}

const simpleEscapes: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\n': '',
}

/**
 * The value of a string literal: Python's `unicode-escape` decoding of the text
 * with characters outside ASCII written as escapes first. So a backslash before
 * such a character keeps both, and what follows is the spelled-out escape.
 */
function unescapeString(text: string, line: number): string {
  if (!text.includes('\\')) return text
  const escapeSequence = /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([xuUN])|(.))/gsu
  return text.replace(escapeSequence, (_match, octal, hex, short, long, broken, simple: string | undefined) => {
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
    const code = hex ?? short ?? long
    if (code !== undefined) {
      const value = Number.parseInt(code, 16)
      if (value > 0x10ffff) throw new TemplateSyntaxError('illegal Unicode character', line)
      return String.fromCodePoint(value)
    }
    if (broken !== undefined)
      throw new TemplateSyntaxError(`invalid or unsupported \\${broken} escape in a string`, line)
    const character = simple ?? ''
    if (character > '\x7f') return `\\${spelledEscape(character)}`
    return simpleEscapes[character] ?? `\\${character}`
  })
}

function spelledEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code <= 0xff) return `x${code.toString(16).padStart(2, '0')}`
  return code <= 0xffff ? `u${code.toString(16).padStart(4, '0')}` : `U${code.toString(16).padStart(8, '0')}`
}
