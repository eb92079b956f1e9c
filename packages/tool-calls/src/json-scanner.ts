import type { IllFormedCode, RepairCode } from './codes.ts'
import { rewriteString } from './rewrite-string.ts'

/**
 * One tolerant JSON automaton, used in two ways.
 *
 * *Skimming* runs while text arrives: it follows brackets and quotes to find
 * where a value ends, and looks into no string, so that a valid call costs
 * hardly more than `JSON.parse`, which then judges it. *Careful* runs over a
 * complete value, looks into strings too, and records, as edits, what turns the
 * text into valid JSON.
 *
 * Only what has one reading is edited: structure outside strings, and a
 * string's own invalid escapes and raw control characters. What a string says
 * is never touched, and a string or a container that is not closed is never
 * closed here, but for brackets in front of an end marker.
 *
 * Offsets count UTF-16 units from the start of the value. Every character is
 * visited a bounded number of times; nesting is bounded by `maxDepth`.
 */

/** The deepest nesting that is read. */
export const maxDepth = 512

const value = 0
const firstElement = 1
const element = 2
const firstKey = 3
const key = 4
const colon = 5
const afterValue = 6
const inString = 7
const inNumber = 8
const inWord = 9
const afterSlash = 10
const inLineComment = 11
const inBlockComment = 12
const afterBackslash = 13

const objectBracket = 123
const arrayBracket = 91

type ValueKind = 'string' | 'scalar' | 'container'

/** A member of the outermost object, or an element of the outermost array (whose key is empty). */
export interface JsonEntry {
  keyStart: number
  keyEnd: number
  valueStart: number
  valueEnd: number
}

/** A replacement of `[start, end)` by `text`. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isWordCharacter(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    isDigit(code) ||
    code === 95 ||
    code === 36 ||
    code === 45 ||
    code === 46
  )
}

/** What a number is made of, and what may be glued to one. */
function isNumberCharacter(code: number): boolean {
  return isWordCharacter(code) || code === 43
}

/** White space that JSON does not know, and models write. */
export function isForeignSpace(code: number): boolean {
  if (code < 128) return code === 11 || code === 12
  return (
    code === 0xa0 ||
    code === 0x85 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200d) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000 ||
    code === 0xfeff
  )
}

const fullwidthPunctuation: Readonly<Record<number, string>> = {
  65306: ':',
  65292: ',',
  65371: '{',
  65373: '}',
  65339: '[',
  65341: ']',
}

/** The quote that closes what a quote opens; 0 for what opens no string. */
function closingQuote(code: number): number {
  if (code === 34 || code === 39 || code === 0xff02) return code
  return code === 0x201c || code === 0x201d ? 0x201d : 0
}

const pythonLiterals: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }
const jsonLiterals: ReadonlySet<string> = new Set(['true', 'false', 'null'])
const numberWords: ReadonlySet<string> = new Set(['NaN', 'Infinity'])

export class JsonScanner {
  /** Whether the outermost value is closed. `feed` has returned the place behind it. */
  isDone = false
  /** Why the text can't be read on, at `failedAt`. */
  failure: IllFormedCode | null = null
  failedAt = 0
  /** Where the string starts that was read last, or is being read. */
  lastStringStart = 0
  /** Whether the text is not JSON outside its strings. */
  hasDefect = false
  readonly entries: JsonEntry[] = []
  readonly repairs: Set<RepairCode> = new Set()
  /** Keys of all objects. */
  keyCount = 0

  readonly #isCareful: boolean
  readonly #edits: Edit[] = []
  readonly #stack: number[] = []
  #state = value
  #resumeState = value
  #quote = 34
  #stringIsKey = false
  #isEscaped = false
  #word = ''
  #tokenStart = 0
  #commaAt = 0
  #lastKind: ValueKind = 'scalar'
  #sawStar = false

  constructor(isCareful: boolean) {
    this.#isCareful = isCareful
  }

  /** Whether the scan stopped inside a string. */
  get isInString(): boolean {
    return this.#state === inString
  }

  /** Whether only closing brackets are missing. */
  get lacksOnlyBrackets(): boolean {
    return this.#state === afterValue
  }

  /**
   * Reads on, and returns where it stopped: at the end of the window, behind
   * the value, or at what can't be read. In careful mode the window is the
   * whole value.
   *
   * @param shift the offset of the window's first character
   */
  feed(window: string, from: number, shift: number): number {
    let index = from
    while (index < window.length && !this.isDone && this.failure === null) {
      switch (this.#state) {
        case inString:
          index = this.#skipString(window, index, shift)
          break
        case inNumber:
          index = this.#readNumber(window, index, shift)
          break
        case inWord:
          index = this.#readWord(window, index, shift)
          break
        case afterSlash:
        case inLineComment:
        case inBlockComment:
          index = this.#readComment(window, index, shift)
          break
        case afterBackslash:
          index = this.#readLiteralNewline(window, index, shift)
          break
        default:
          index = this.#readStructure(window, index, shift)
      }
    }
    return index
  }

  /** Ends a text that was all there is: a number or a word may end with it. */
  end(text: string): void {
    if (this.#state === inNumber) this.#endNumber(text, 0, text.length)
    else if (this.#state === inWord) this.#endWord(text.length)
  }

  /** Closes what is open before an end marker at `offset`. Only where `lacksOnlyBrackets`. */
  closeBrackets(offset: number): void {
    while (this.#stack.length > 0) this.#insertBracket(offset)
  }

  /** The text with its edits made. */
  repairedText(text: string): string {
    if (this.#edits.length === 0) return text
    const parts: string[] = []
    let from = 0
    for (const edit of this.#edits) {
      parts.push(text.slice(from, edit.start), edit.text)
      from = edit.end
    }
    parts.push(text.slice(from))
    return parts.join('')
  }

  #fail(code: IllFormedCode, offset: number): void {
    this.failure = code
    this.failedAt = offset
  }

  #note(code: RepairCode): void {
    this.hasDefect = true
    this.repairs.add(code)
  }

  #edit(code: RepairCode, start: number, end: number, text: string): void {
    this.#note(code)
    if (this.#isCareful) this.#edits.push({ start, end, text })
  }

  #readStructure(window: string, from: number, shift: number): number {
    let index = from
    for (; index < window.length; index += 1) {
      const code = window.charCodeAt(index)
      if (code === 32 || code === 10 || code === 13 || code === 9) continue
      const offset = shift + index
      if (code === 34) this.#openString(34, offset)
      else if (code === 44) this.#readComma(offset)
      else if (code === 58) this.#readColon(offset)
      else if (code === objectBracket || code === arrayBracket) this.#open(code, offset)
      else if (code === 125 || code === 93) this.#close(code === 125 ? objectBracket : arrayBracket, offset)
      else if (!this.#readOther(code, offset)) return index
      if (this.isDone || this.failure !== null) return this.failure === null ? index + 1 : index
      if (this.#state >= inString) return index + 1
    }
    return index
  }

  /** A character that is no JSON structure. Returns whether it was consumed. */
  #readOther(code: number, offset: number): boolean {
    if (this.#state <= element && (isDigit(code) || code === 45)) return this.#openScalar(code, offset)
    if (isForeignSpace(code)) {
      this.#edit('unicode_space', offset, offset + 1, ' ')
      return true
    }
    const punctuation = code > 65000 ? fullwidthPunctuation[code] : undefined
    if (punctuation !== undefined) {
      this.#edit('fullwidth_punctuation', offset, offset + 1, punctuation)
      if (punctuation === ':') this.#readColon(offset)
      else if (punctuation === ',') this.#readComma(offset)
      else if (punctuation === '{' || punctuation === '[') this.#open(punctuation.charCodeAt(0), offset)
      else this.#close(punctuation === '}' ? objectBracket : arrayBracket, offset)
      return true
    }
    const quote = closingQuote(code)
    if (quote !== 0 && this.#expectsString()) {
      this.#note(quote === 39 ? 'single_quote' : 'fullwidth_punctuation')
      this.#openString(quote, offset)
      return true
    }
    if (code === 47) {
      this.#resumeState = this.#state
      this.#tokenStart = offset
      this.#state = afterSlash
      return true
    }
    if (code === 92) {
      this.#resumeState = this.#state
      this.#tokenStart = offset
      this.#state = afterBackslash
      return true
    }
    if (code === 38) this.#fail('html_escaped_payload', offset)
    else if (this.#expectsValue()) return this.#openScalar(code, offset)
    else if (this.#expectsKey() && isWordCharacter(code) && !isDigit(code) && code !== 45 && code !== 46) {
      this.#openWord(offset)
      return false
    } else this.#failHere(code, offset)
    return false
  }

  #expectsValue(): boolean {
    return this.#state <= element
  }

  #expectsKey(): boolean {
    return this.#state === firstKey || this.#state === key
  }

  #expectsString(): boolean {
    return this.#expectsValue() || this.#expectsKey()
  }

  #openScalar(code: number, offset: number): boolean {
    if (code === 43 || code === 46) this.#fail('non_json_number', offset)
    else if (isDigit(code) || code === 45) {
      this.#startValue(offset)
      this.#tokenStart = offset
      this.#state = inNumber
      return true
    } else if (isWordCharacter(code)) {
      this.#startValue(offset)
      this.#openWord(offset)
    } else this.#fail(code < 128 ? 'unquoted_value' : 'invalid_json', offset)
    return false
  }

  #openWord(offset: number): void {
    this.#stringIsKey = this.#expectsKey()
    this.#word = ''
    this.#tokenStart = offset
    this.#state = inWord
  }

  #openString(quote: number, offset: number): void {
    if (!this.#expectsString()) {
      this.#failHere(34, offset)
      return
    }
    this.#stringIsKey = this.#expectsKey()
    if (this.#stringIsKey) this.#startKey(offset)
    else this.#startValue(offset)
    this.lastStringStart = offset
    this.#quote = quote
    this.#isEscaped = false
    this.#state = inString
  }

  #failHere(code: number, offset: number): void {
    this.#fail(this.#reasonFor(code), offset)
  }

  /** Why a character can't stand here. */
  #reasonFor(code: number): IllFormedCode {
    if (this.#state === colon) return 'missing_colon'
    if (this.#state !== afterValue) return 'invalid_json'
    if (this.#lastKind === 'string') return this.#quote === 39 ? 'ambiguous_quote' : 'unescaped_quote'
    if (code !== 34 && code !== objectBracket && code !== arrayBracket) return 'invalid_json'
    const isArgumentsAgain = this.#lastKind === 'container' && code === objectBracket && this.#top() === objectBracket
    return isArgumentsAgain ? 'concatenated_arguments' : 'missing_comma'
  }

  #readComma(offset: number): void {
    if (this.#state === afterValue) {
      this.#commaAt = offset
      this.#state = this.#top() === objectBracket ? key : element
    } else if (this.#state === value) this.#fail('missing_value', offset)
    else this.#failHere(44, offset)
  }

  #readColon(offset: number): void {
    if (this.#state === colon) this.#state = value
    else this.#failHere(58, offset)
  }

  #open(bracket: number, offset: number): void {
    if (!this.#expectsValue()) this.#failHere(bracket, offset)
    else if (this.#stack.length === maxDepth) this.#fail('too_deep', offset)
    else {
      this.#startValue(offset)
      this.#stack.push(bracket)
      this.#state = bracket === objectBracket ? firstKey : firstElement
    }
  }

  #close(bracket: number, offset: number): void {
    const lacksOne = this.#top() !== bracket
    const canInsert = this.#state === afterValue && this.#stack[this.#stack.length - 2] === bracket
    if (this.#state === colon) this.#fail('missing_colon', offset)
    else if (this.#state === value) this.#fail('missing_value', offset)
    else if (lacksOne && !canInsert) this.#fail('mismatched_bracket', offset)
    else {
      if (lacksOne) this.#insertBracket(offset)
      if (this.#state === key || this.#state === element) this.#dropComma()
      this.#stack.pop()
      this.#endValue('container', offset + 1)
    }
  }

  #dropComma(): void {
    this.#note('trailing_comma')
    if (!this.#isCareful) return
    // What was edited behind the comma comes after it; a full-width comma was edited itself.
    let place = this.#edits.length
    while (place > 0 && (this.#edits[place - 1]?.start ?? -1) >= this.#commaAt) place -= 1
    const isEdited = this.#edits[place]?.start === this.#commaAt
    this.#edits.splice(place, isEdited ? 1 : 0, { start: this.#commaAt, end: this.#commaAt + 1, text: ' ' })
  }

  #insertBracket(offset: number): void {
    this.#edit('missing_bracket', offset, offset, this.#stack.pop() === objectBracket ? '}' : ']')
    this.#endValue('container', offset)
  }

  #top(): number {
    return this.#stack[this.#stack.length - 1] ?? 0
  }

  #startKey(offset: number): void {
    this.keyCount += 1
    if (this.#stack.length === 1) {
      this.entries.push({ keyStart: offset, keyEnd: offset, valueStart: 0, valueEnd: 0 })
    }
  }

  #endKey(offset: number): void {
    if (this.#stack.length === 1) {
      const entry = this.entries[this.entries.length - 1]
      if (entry) entry.keyEnd = offset
    }
    this.#state = colon
  }

  #startValue(offset: number): void {
    if (this.#stack.length !== 1) return
    if (this.#top() === arrayBracket) {
      this.entries.push({ keyStart: offset, keyEnd: offset, valueStart: offset, valueEnd: 0 })
    } else {
      const entry = this.entries[this.entries.length - 1]
      if (entry) entry.valueStart = offset
    }
  }

  #endValue(kind: ValueKind, offset: number): void {
    this.#lastKind = kind
    this.#state = afterValue
    if (this.#stack.length === 0) this.isDone = true
    else if (this.#stack.length === 1) {
      const entry = this.entries[this.entries.length - 1]
      if (entry) entry.valueEnd = offset
    }
  }

  #endString(offset: number): void {
    if (this.#stringIsKey) this.#endKey(offset)
    else this.#endValue('string', offset)
  }

  /** Goes to the closing quote, looking at nothing but quotes and the backslashes before them. In careful mode the window is the whole value. */
  #skipString(window: string, from: number, shift: number): number {
    let index = from
    if (this.#isEscaped) {
      this.#isEscaped = false
      index += 1
    }
    const quote = this.#quote === 34 ? '"' : String.fromCharCode(this.#quote)
    for (;;) {
      const found = window.indexOf(quote, index)
      const end = found < 0 ? window.length : found
      let slashStart = end
      while (slashStart > index && window.charCodeAt(slashStart - 1) === 92) slashStart -= 1
      const isEscaped = (end - slashStart) % 2 === 1
      if (found < 0) {
        this.#isEscaped = isEscaped
        return end
      }
      index = found + 1
      if (!isEscaped) {
        if (this.#isCareful) this.#rewriteString(window, shift + index, shift)
        this.#endString(shift + index)
        return index
      }
    }
  }

  /** Records what has to be edited in a string, quotes included, that ends at `end`. */
  #rewriteString(window: string, end: number, shift: number): void {
    const start = this.lastStringStart
    const isForeign = this.#quote !== 34
    const rewritten = rewriteString(window.slice(start + 1 - shift, end - 1 - shift), isForeign)
    if (rewritten !== null) {
      if (rewritten.failure !== null) this.#fail(rewritten.failure, start)
      for (const repair of rewritten.repairs) this.#note(repair)
    }
    if (rewritten === null && !isForeign) return
    const body = rewritten?.text ?? window.slice(start + 1 - shift, end - 1 - shift)
    this.#edits.push({ start, end, text: `"${body}"` })
  }

  /** Goes behind a number. Whether it is one is for `JSON.parse` to say, or for the careful reading. */
  #readNumber(window: string, from: number, shift: number): number {
    let index = from
    while (index < window.length && isNumberCharacter(window.charCodeAt(index))) index += 1
    if (index < window.length) this.#endNumber(window, shift, index)
    return index
  }

  #endNumber(window: string, shift: number, end: number): void {
    const isNumber = !this.#isCareful || jsonNumber.test(window.slice(this.#tokenStart - shift, end))
    if (isNumber) this.#endValue('scalar', shift + end)
    else this.#fail('non_json_number', this.#tokenStart)
  }

  #readWord(window: string, from: number, shift: number): number {
    let index = from
    while (index < window.length && isWordCharacter(window.charCodeAt(index))) index += 1
    this.#word += window.slice(from, index)
    if (this.#word.length > 256) this.#fail('unquoted_value', this.#tokenStart)
    else if (index < window.length) this.#endWord(shift + index)
    return index
  }

  #endWord(offset: number): void {
    const word = this.#word
    const literal = pythonLiterals[word]
    if (this.#stringIsKey) {
      this.#startKey(this.#tokenStart)
      this.#edit('unquoted_key', this.#tokenStart, offset, `"${word}"`)
      this.#endKey(offset)
    } else if (literal !== undefined || jsonLiterals.has(word)) {
      if (literal !== undefined) this.#edit('python_literal', this.#tokenStart, offset, literal)
      this.#endValue('scalar', offset)
    } else this.#fail(numberWords.has(word) ? 'non_json_number' : 'unquoted_value', this.#tokenStart)
  }

  #readComment(window: string, from: number, shift: number): number {
    for (let index = from; index < window.length; index += 1) {
      const code = window.charCodeAt(index)
      if (this.#state === afterSlash) {
        if (code !== 47 && code !== 42) {
          this.#state = this.#resumeState
          this.#failHere(47, this.#tokenStart)
          return index
        }
        this.#state = code === 47 ? inLineComment : inBlockComment
        this.#sawStar = false
      } else if (code === 60) {
        // A marker may stand here, and with it the end of the call.
        this.#fail('ambiguous_comment', this.#tokenStart)
        return index
      } else if (this.#state === inLineComment ? code === 10 : this.#sawStar && code === 47) {
        this.#edit('comment', this.#tokenStart, shift + index + 1, ' ')
        this.#state = this.#resumeState
        return index + 1
      } else this.#sawStar = code === 42
    }
    return window.length
  }

  #readLiteralNewline(window: string, index: number, shift: number): number {
    const code = window.charCodeAt(index)
    this.#state = this.#resumeState
    if (code === 110 || code === 114 || code === 116) {
      this.#edit('literal_newline', this.#tokenStart, shift + index + 1, ' ')
      return index + 1
    }
    if (code === 34) this.#fail('escaped_payload', this.#tokenStart)
    else this.#failHere(92, this.#tokenStart)
    return index
  }
}
