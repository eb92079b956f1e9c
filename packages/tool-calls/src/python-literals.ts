import type { IllFormedCode, RepairCode } from './codes.ts'
import { maxDepth } from './json-scanner.ts'

/**
 * Python calls with literal arguments, turned into JSON text:
 *
 *     [read(path="a.py", limit=5), fs.list()]
 *
 * Strings have Python's escapes, with the one repair that JSON strings have
 * too: a `\u`, `\U` or `\x` without its digits is a lone backslash. Names other
 * than True, False, None (and JSON's own) are no literals.
 */
export interface PythonCall {
  readonly name: string
  readonly argumentsText: string
  readonly repairs: readonly RepairCode[]
  /** A reason for which this call is none, though the list could be read. */
  readonly failure: IllFormedCode | null
}

function isTriple(text: string, index: number, quote: number): boolean {
  return text.charCodeAt(index + 1) === quote && text.charCodeAt(index + 2) === quote
}

/** Finds where a list of calls ends, while it arrives. */
export class PythonScanner {
  isDone = false
  #depth = 0
  /** The quote of the string that is open, and how many of it close it; 0 outside of one. */
  #quote = 0
  #quotes = 0

  /** Reads on, and returns where it stopped: behind the list, or where it takes up to two further characters to tell. */
  feed(window: string, from: number, isEnded: boolean): number {
    const last = isEnded ? window.length : window.length - 2
    let index = from
    while (index < last && !this.isDone) {
      index += this.#quote === 0 ? this.#readOutside(window, index) : this.#readInside(window, index)
    }
    return Math.min(index, window.length)
  }

  /** The length of what was read. */
  #readOutside(window: string, index: number): number {
    const code = window.charCodeAt(index)
    if (code === 34 || code === 39) {
      this.#quote = code
      this.#quotes = isTriple(window, index, code) ? 3 : 1
      return this.#quotes
    }
    if (code === 91 || code === 40 || code === 123) this.#depth += 1
    else if (code === 93 || code === 41 || code === 125) {
      this.#depth -= 1
      this.isDone = this.#depth <= 0
    }
    return 1
  }

  /** The length of what was read: all up to the next character that may say something, or that one. */
  #readInside(window: string, index: number): number {
    const quote = this.#quote
    let end = index
    for (; end < window.length; end += 1) {
      const code = window.charCodeAt(end)
      if (code === 92 || code === quote) break
    }
    if (end > index) return end - index
    if (window.charCodeAt(index) === 92) return 2
    if (this.#quotes === 3 && !isTriple(window, index, quote)) return 1
    this.#quote = 0
    return this.#quotes
  }
}

/** A place of a text that can't be read. */
class PythonError extends Error {
  readonly code: IllFormedCode
  constructor(code: IllFormedCode) {
    super(code)
    this.code = code
  }
}

/** Reads a whole list of calls. */
export function readPythonCalls(text: string): readonly PythonCall[] | IllFormedCode {
  try {
    return new PythonReader(text).readList()
  } catch (error) {
    if (error instanceof PythonError) return error.code
    throw error
  }
}

const literals: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  true: 'true',
  false: 'false',
  null: 'null',
}

const shortEscapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': '',
}

/** What a string may hold that JSON reads in another way, or not at all. */
const foreignToJson = /[\u0000-\u001f]|\\[^"\\bfnrtu]|\\u(?![0-9a-fA-F]{4})/

/** Whether a backslash escapes the character at a place of a string that starts at `start`. */
function isEscaped(text: string, start: number, index: number): boolean {
  let from = index
  while (from > start && text.charCodeAt(from - 1) === 92) from -= 1
  return (index - from) % 2 === 1
}

class PythonReader {
  readonly #text: string
  readonly #space = /[ \t\r\n]*/y
  readonly #callName = /[A-Za-z_][\w.-]*/y
  readonly #keyword = /[A-Za-z_]\w*/y
  readonly #number = /[+-]?[ ]?(?:0[xX][0-9a-fA-F]+|(?:[0-9][0-9_]*)?\.?[0-9_]*(?:[eE][+-]?[0-9]+)?)/y
  readonly #word = /\w*/y
  readonly #plain = /[^\\"'\n]*/y
  #index = 0
  #repairs: Set<RepairCode> = new Set()

  constructor(text: string) {
    this.#text = text
  }

  readList(): readonly PythonCall[] {
    const calls: PythonCall[] = []
    this.#expect('[')
    while (!this.#take(']')) {
      calls.push(this.#readCall())
      if (!this.#take(',')) {
        this.#expect(']')
        break
      }
    }
    this.#skipSpace()
    if (this.#index < this.#text.length) throw new PythonError('invalid_python')
    return calls
  }

  #readCall(): PythonCall {
    this.#repairs = new Set()
    this.#skipSpace()
    const name = this.#match(this.#callName)
    if (name === '') throw new PythonError('invalid_python')
    if (name.includes('-')) this.#repairs.add('tool_name')
    this.#expect('(')
    const names = new Set<string>()
    const members: string[] = []
    let failure: IllFormedCode | null = null
    while (!this.#take(')')) {
      const argument = this.#readName()
      if (argument === null) failure ??= 'positional_argument'
      if (argument !== null && names.has(argument)) failure ??= 'duplicate_parameter'
      names.add(argument ?? '')
      members.push(`${JSON.stringify(argument ?? '')}: ${this.#readValue(2)}`)
      if (!this.#take(',')) {
        this.#expect(')')
        break
      }
    }
    return { name, argumentsText: `{${members.join(', ')}}`, repairs: [...this.#repairs], failure }
  }

  /** The name of an argument and its `=`; null where a value stands without one. */
  #readName(): string | null {
    this.#skipSpace()
    const start = this.#index
    const name = this.#match(this.#keyword)
    if (name !== '' && this.#take('=') && this.#text[this.#index] !== '=') return name
    this.#index = start
    return null
  }

  /** @param depth how many containers the value would be the innermost of, if it is one: arguments are an object */
  #readValue(depth: number): string {
    this.#skipSpace()
    const first = this.#text.charAt(this.#index)
    if (depth > maxDepth && '[({'.includes(first) && first !== '') throw new PythonError('too_deep')
    if (first === '"' || first === "'") return this.#readString(first)
    if (first === '[') return this.#readSequence('[', ']', depth)
    if (first === '(') return this.#readSequence('(', ')', depth)
    if (first === '{') return this.#readDictionary(depth)
    if (/[0-9.+-]/.test(first)) return this.#readNumber()
    const literal = literals[this.#match(this.#word)]
    if (literal === undefined) throw new PythonError(first === '' ? 'truncated' : 'unquoted_value')
    return literal
  }

  #readSequence(open: string, close: string, depth: number): string {
    this.#expect(open)
    const items: string[] = []
    while (!this.#take(close)) {
      items.push(this.#readValue(depth + 1))
      if (!this.#take(',')) {
        this.#expect(close)
        break
      }
    }
    return `[${items.join(', ')}]`
  }

  #readDictionary(depth: number): string {
    this.#expect('{')
    const members: string[] = []
    while (!this.#take('}')) {
      this.#skipSpace()
      const quote = this.#text.charAt(this.#index)
      if (quote !== '"' && quote !== "'") throw new PythonError('invalid_python')
      const key = this.#readString(quote)
      this.#expect(':')
      members.push(`${key}: ${this.#readValue(depth + 1)}`)
      if (!this.#take(',')) {
        this.#expect('}')
        break
      }
    }
    return `{${members.join(', ')}}`
  }

  #readNumber(): string {
    const written = this.#match(this.#number).replaceAll('_', '').replace(/^\+ ?/, '').replace(/^- /, '-')
    if (this.#match(this.#word) !== '') throw new PythonError('non_json_number')
    const hexadecimal = /^(-?)(0[xX].+)$/.exec(written)
    if (hexadecimal) return `${hexadecimal[1]}${BigInt(hexadecimal[2] ?? '0')}`
    const completed = written.replace(/^(-?)\./, '$10.').replace(/\.(?=$|[eE])/, '.0')
    if (!/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(completed))
      throw new PythonError('non_json_number')
    return completed
  }

  #readString(quote: string): string {
    const text = this.#text
    const isTriple = text.startsWith(quote.repeat(3), this.#index)
    const asJson = isTriple ? null : this.#readJsonString(quote)
    if (asJson !== null) return asJson
    const closing = isTriple ? quote.repeat(3) : quote
    this.#index += closing.length
    const parts: string[] = []
    let from = this.#index
    for (;;) {
      const code = text.charCodeAt(this.#index)
      if (Number.isNaN(code)) throw new PythonError('truncated')
      if (code === 92) {
        parts.push(text.slice(from, this.#index), this.#readEscape())
        from = this.#index
      } else if (text.startsWith(closing, this.#index)) break
      else {
        if (code === 10 && !isTriple) this.#repairs.add('control_character')
        this.#index += 1
        this.#match(this.#plain)
      }
    }
    parts.push(text.slice(from, this.#index))
    this.#index += closing.length
    return JSON.stringify(parts.join(''))
  }

  /** Goes behind a string that means the same to JSON, and gives it; null for any other. */
  #readJsonString(quote: string): string | null {
    const text = this.#text
    const start = this.#index + 1
    let end = text.indexOf(quote, start)
    while (end >= 0 && isEscaped(text, start, end)) end = text.indexOf(quote, end + 1)
    const body = text.slice(start, end)
    if (end < 0 || foreignToJson.test(body) || (quote === "'" && body.includes('"'))) return null
    this.#index = end + 1
    return `"${body}"`
  }

  /** What an escape says, and goes behind it. Python keeps the backslash of what is none. */
  #readEscape(): string {
    const text = this.#text
    const next = text.charAt(this.#index + 1)
    const short = shortEscapes[next]
    if (short !== undefined) {
      this.#index += 2
      return short
    }
    const digits = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(00[01][0-9a-fA-F]{5}))/.exec(
      text.slice(this.#index + 1, this.#index + 10),
    )
    if (digits) {
      this.#index += 1 + digits[0].length
      const unit = Number.parseInt(digits[1] ?? digits[2] ?? digits[3] ?? '0', 16)
      if (unit > 0x10ffff) throw new PythonError('ambiguous_escape')
      return digits[2] === undefined ? String.fromCodePoint(unit) : String.fromCharCode(unit)
    }
    const octal = /^[0-7]{1,3}/.exec(text.slice(this.#index + 1, this.#index + 4))?.[0]
    if (octal !== undefined) {
      this.#index += 1 + octal.length
      return String.fromCharCode(Number.parseInt(octal, 8))
    }
    if (next === 'N' && text.charAt(this.#index + 2) === '{') throw new PythonError('ambiguous_escape')
    if (next === 'x' || next === 'u' || next === 'U' || next === 'N') this.#repairs.add('invalid_escape')
    this.#index += 1
    return '\\'
  }

  #skipSpace(): void {
    this.#match(this.#space)
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#index
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#index += found.length
    return found
  }

  #take(character: string): boolean {
    this.#skipSpace()
    if (this.#text.charAt(this.#index) !== character) return false
    this.#index += 1
    return true
  }

  #expect(character: string): void {
    if (this.#take(character)) return
    throw new PythonError(this.#index >= this.#text.length ? 'truncated' : 'invalid_python')
  }
}
