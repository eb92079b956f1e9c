import { ValueError } from '@agentrl/spec'

/**
 * JSON text read into plain objects, which remember how they were written where
 * they can't say it themselves: `1.0` is `1` in JavaScript, integers end at
 * 2^53, and keys like `"10"` move to the front. A template has to write tool
 * schemas and arguments as Python would, so these keep their text.
 */
const sources = new WeakMap<object, string>()

/** The text that an object was read from; null if writing it again gives the same values in the same order. */
export function sourceOf(value: object): string | null {
  return sources.get(value) ?? null
}

/** The JSON text of a value: the one that it was read from, where that says more. */
export function sourceText(value: unknown): string {
  const source = typeof value === 'object' && value !== null ? sourceOf(value) : null
  return source ?? JSON.stringify(value)
}

/**
 * Parses JSON. Objects that are members of one of these names keep their source
 * where it matters. Throws SyntaxError for what is no JSON, and ValueError
 * `value_invalid` where it can't look for numbers because the text nests deeper
 * than 1000. Linear.
 */
export function parseJsonWithSources(text: string, names: ReadonlySet<string>): unknown {
  const value: unknown = JSON.parse(text)
  if (perhapsChanged.test(text)) new Walk(text, names).value(value, 0)
  return value
}

/** What a plain object may not keep, or looks like it in a string: `1.0`, `1e5`, `-0`, very many digits, a key of digits. */
const perhapsChanged =
  /[:,[\s](?:-0|-?\d+(?:\.\d*0|\.\d{7,}|(?:\.\d+)?[eE][-+]?\d+)|-?\d{16,}|-?\d{8,}\.\d+)[,\]}\s]|"\d+"\s*:/

const maxDepth = 1000
const blanks = /[ \t\n\r]*/y
const scalar = /[-+.\w]+/y
const [quote, comma, backslash, openBracket, closeBracket, openBrace, closeBrace] = [
  0x22, 0x2c, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d,
]

/** Goes along a text and the value that it was parsed to: the text is valid. */
class Walk {
  readonly #text: string
  readonly #names: ReadonlySet<string>
  #position = 0
  /** A number or a key was met that a plain object does not keep as it is written. */
  #isChanged = false

  constructor(text: string, names: ReadonlySet<string>) {
    this.#text = text
    this.#names = names
  }

  value(value: unknown, depth: number): void {
    if (depth > maxDepth) throw new ValueError('value_invalid', `JSON may nest ${maxDepth} levels deep; this is deeper`)
    this.#skipBlanks()
    switch (this.#text.charCodeAt(this.#position)) {
      case quote:
        this.#skipString()
        break
      case openBrace:
        this.#members(value, depth)
        break
      case openBracket:
        this.#items(value, depth)
        break
      default:
        this.#scalar()
    }
    this.#skipBlanks()
  }

  #members(object: unknown, depth: number): void {
    this.#position += 1
    this.#skipBlanks()
    while (this.#text.charCodeAt(this.#position) !== closeBrace) {
      const key = this.#key()
      this.#skipBlanks()
      this.#position += 1
      const member = (object as Readonly<Record<string, unknown>>)[key]
      if (this.#names.has(key)) this.#kept(member, depth + 1)
      else this.value(member, depth + 1)
      this.#skipComma()
    }
    this.#position += 1
  }

  #items(array: unknown, depth: number): void {
    this.#position += 1
    this.#skipBlanks()
    for (let index = 0; this.#text.charCodeAt(this.#position) !== closeBracket; index += 1) {
      this.value((array as readonly unknown[])[index], depth + 1)
      this.#skipComma()
    }
    this.#position += 1
  }

  #kept(value: unknown, depth: number): void {
    const wasChanged = this.#isChanged
    this.#isChanged = false
    this.#skipBlanks()
    const start = this.#position
    this.value(value, depth)
    // A key that comes twice has the value of its last place, and so its source.
    if (typeof value === 'object' && value !== null) {
      if (this.#isChanged) sources.set(value, ownCopy(this.#text.slice(start, this.#position)))
      else sources.delete(value)
    }
    this.#isChanged ||= wasChanged
  }

  #scalar(): void {
    scalar.lastIndex = this.#position
    const literal = scalar.exec(this.#text)?.[0] ?? ''
    this.#position += literal.length
    if (literal.length === 1) return
    const number = Number(literal)
    if (Number.isNaN(number)) return
    const isLargeInteger = Math.abs(number) > Number.MAX_SAFE_INTEGER
    if (isLargeInteger || String(number) !== literal) this.#isChanged = true
  }

  #key(): string {
    const start = this.#position
    this.#skipString()
    const written = this.#text.slice(start + 1, this.#position - 1)
    if (isDigit(written.charCodeAt(0)) && /^\d+$/.test(written)) this.#isChanged = true
    return written.includes('\\') ? JSON.parse(`"${written}"`) : written
  }

  #skipString(): void {
    let end = this.#text.indexOf('"', this.#position + 1)
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    this.#position = end + 1
  }

  #isEscaped(end: number): boolean {
    let start = end
    while (this.#text.charCodeAt(start - 1) === backslash) start -= 1
    return (end - start) % 2 === 1
  }

  #skipComma(): void {
    if (this.#text.charCodeAt(this.#position) === comma) this.#position += 1
    this.#skipBlanks()
  }

  #skipBlanks(): void {
    if ((this.#text.charCodeAt(this.#position) || 0x21) > 0x20) return
    blanks.lastIndex = this.#position
    this.#position += blanks.exec(this.#text)?.[0].length ?? 0
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** A part of a text holds the whole of it in memory. */
function ownCopy(text: string): string {
  return ` ${text}`.slice(1)
}
