import { excerpt, ValueError } from '@agentrl/spec'
import { integer } from './python/numbers.ts'
import { markWhole } from './python/text.ts'
import { Dict, Float, type Str, type Value } from './python/values.ts'

/**
 * JSON text to the values that templates work on, as Python's `json.loads`
 * reads it: `1` and `1.0` stay different, integers have no limit, keys keep
 * their order (also `"1"` and `"2"`), a key that comes twice keeps its first
 * place and its last value, and NaN and Infinity are numbers.
 */
export interface LosslessJsonOptions {
  /** Marks every string, keys too, as coming from a variable (control-tokens.ts). Default false. */
  readonly isMarked?: boolean
}

const maxDepth = 1000
/** As in Python: longer ones take more than linear time. */
const maxIntegerDigits = 4300

/**
 * Throws ValueError `value_invalid` for what is no JSON, what nests deeper than 1000, and integers of more than 4300
 * digits. Linear.
 */
export function parseLosslessJson(text: string, { isMarked = false }: LosslessJsonOptions = {}): Value {
  return new Reader(text, isMarked).document()
}

const blanks = /[ \t\n\r]*/y
const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y
const plainString = /[^"\\\x00-\x1f]*/y
const words: readonly (readonly [string, Value])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', new Float(Number.NaN)],
  ['Infinity', new Float(Number.POSITIVE_INFINITY)],
  ['-Infinity', new Float(Number.NEGATIVE_INFINITY)],
]
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

class Reader {
  private readonly text: string
  private readonly isMarked: boolean
  private position = 0

  constructor(text: string, isMarked: boolean) {
    this.text = text
    this.isMarked = isMarked
  }

  document(): Value {
    this.skipBlanks()
    const value = this.value(0)
    this.skipBlanks()
    if (this.position < this.text.length) this.fail('the end of the text')
    return value
  }

  private fail(expected: string): never {
    const found = this.text.slice(this.position, this.position + 20)
    throw new ValueError(
      'value_invalid',
      `JSON at char ${this.position}: expected ${expected}, found ${found === '' ? 'the end' : `"${excerpt(found)}"`}`,
      { details: { charStart: this.position } },
    )
  }

  private skipBlanks(): void {
    blanks.lastIndex = this.position
    this.position += blanks.exec(this.text)?.[0].length ?? 0
  }

  private skip(mark: string): boolean {
    if (this.text[this.position] !== mark) return false
    this.position += 1
    return true
  }

  private value(depth: number): Value {
    if (depth > maxDepth) this.fail(`at most ${maxDepth} levels`)
    switch (this.text[this.position]) {
      case '{':
        return this.object(depth)
      case '[':
        return this.array(depth)
      case '"':
        return this.str()
      default:
        return this.wordOrNumber()
    }
  }

  private wordOrNumber(): Value {
    for (const [word, value] of words) {
      if (!this.text.startsWith(word, this.position)) continue
      this.position += word.length
      return value
    }
    number.lastIndex = this.position
    const match = number.exec(this.text)
    if (match === null) this.fail('a value')
    this.position += match[0].length
    const isWhole = match[1] === undefined && match[2] === undefined
    if (!isWhole) return new Float(Number(match[0]))
    if (match[0].length > maxIntegerDigits) {
      this.position -= match[0].length
      this.fail(`an integer of at most ${maxIntegerDigits} digits`)
    }
    const small = Number(match[0])
    return Number.isSafeInteger(small) ? small + 0 : integer(BigInt(match[0]))
  }

  private array(depth: number): Value {
    const items: Value[] = []
    this.position += 1
    this.skipBlanks()
    if (this.skip(']')) return items
    for (;;) {
      this.skipBlanks()
      items.push(this.value(depth + 1))
      this.skipBlanks()
      if (this.skip(']')) return items
      if (!this.skip(',')) this.fail('"," or "]"')
    }
  }

  private object(depth: number): Value {
    const dict = new Dict()
    this.position += 1
    this.skipBlanks()
    if (this.skip('}')) return dict
    for (;;) {
      this.skipBlanks()
      if (this.text[this.position] !== '"') this.fail('a key in double quotes')
      const key = this.str()
      this.skipBlanks()
      if (!this.skip(':')) this.fail('":"')
      this.skipBlanks()
      dict.set(key, this.value(depth + 1))
      this.skipBlanks()
      if (this.skip('}')) return dict
      if (!this.skip(',')) this.fail('"," or "}"')
    }
  }

  private str(): Str {
    const text = this.stringText()
    return this.isMarked ? markWhole(text) : text
  }

  private stringText(): string {
    this.position += 1
    let result = ''
    for (;;) {
      plainString.lastIndex = this.position
      const plain = plainString.exec(this.text)?.[0] ?? ''
      result += plain
      this.position += plain.length
      if (this.skip('"')) return result
      if (!this.skip('\\')) this.fail('a character or the closing quote of a string')
      result += this.escape()
    }
  }

  private escape(): string {
    const letter = this.text[this.position] ?? ''
    if (letter === 'u') {
      const digits = this.text.slice(this.position + 1, this.position + 5)
      if (!/^[\da-fA-F]{4}$/.test(digits)) this.fail('four hexadecimal digits')
      this.position += 5
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const character = escapes[letter]
    if (character === undefined) this.fail('an escape')
    this.position += 1
    return character
  }
}
