/**
 * What Python's `str` knows about characters, where it differs from JavaScript:
 * whitespace, printable characters, numerals and title case. Classes come from
 * the Unicode tables of the running JavaScript engine; characters assigned
 * after the Unicode version of the Python that is compared with can differ.
 */

/** The characters of `str.isspace()`, `str.strip()` and `\s`: unlike JavaScript's, with U+001C to U+001F and U+0085, without U+FEFF. */
export const whitespaceClass =
  '\\t\\n\\v\\f\\r\\x1c-\\x1f \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const whitespacePattern = new RegExp(`^[${whitespaceClass}]$`)

export function isWhitespace(character: string): boolean {
  return whitespacePattern.test(character)
}

/** The line ends of `str.splitlines()`. */
export const lineEndPattern: RegExp = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g

const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/u

/** Whether `repr` writes the character as it is. */
export function isPrintable(character: string): boolean {
  return character === ' ' || !unprintable.test(character)
}

export const isAlphabetic = (character: string): boolean => /^\p{L}$/u.test(character)
export const isDecimal = (character: string): boolean => /^\p{Nd}$/u.test(character)

/** Digits that are no decimals: superscripts, circled digits and a few more (Numeric_Type=Digit). */
const otherDigits =
  /^[\u00b2\u00b3\u00b9\u1369-\u1371\u19da\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c\u2488-\u2490\u24ea\u24f5-\u24fd\u24ff\u2776-\u277e\u2780-\u2788\u278a-\u2792\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}]$/u

export const isDigit = (character: string): boolean => isDecimal(character) || otherDigits.test(character)

/** Ideographs that stand for numbers (Numeric_Type=Numeric outside of category N). */
const numericIdeographs =
  /^[\u3405\u3483\u382a\u3b4d\u4e00\u4e03\u4e07\u4e09\u4e5d\u4e8c\u4e94\u4e96\u4ebf-\u4ec0\u4edf\u4ee8\u4f0d\u4f70\u5104\u5146\u5169\u516b\u516d\u5341\u5343-\u5345\u534c\u53c1-\u53c4\u56db\u58f1\u58f9\u5e7a\u5efe-\u5eff\u5f0c-\u5f0e\u5f10\u62fe\u634c\u67d2\u6f06\u7396\u767e\u8086\u842c\u8cae\u8cb3\u8d30\u9621\u9646\u964c\u9678\u96f6\uf96b\uf973\uf978\uf9b2\uf9d1\uf9d3\uf9fd\u{20001}\u{20064}\u{200e2}\u{20121}\u{2092a}\u{20983}\u{2098c}\u{2099c}\u{20aea}\u{20afd}\u{20b19}\u{22390}\u{22998}\u{23b1b}\u{2626d}\u{2f890}]$/u

export const isNumeric = (character: string): boolean => /^\p{N}$/u.test(character) || numericIdeographs.test(character)

const isUpperCharacter = (character: string): boolean => /^\p{Uppercase}$/u.test(character)
const isLowerCharacter = (character: string): boolean => /^\p{Lowercase}$/u.test(character)
const isTitleCharacter = (character: string): boolean => /^\p{Lt}$/u.test(character)
export const isCased = (character: string): boolean =>
  isUpperCharacter(character) || isLowerCharacter(character) || isTitleCharacter(character)
export { isLowerCharacter, isTitleCharacter, isUpperCharacter }

/** Title forms that are not the upper form: digraphs of Latin, Greek with iota subscript (which JavaScript maps to two capitals). */
function titleCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code >= 0x1c4 && code <= 0x1cc) return String.fromCodePoint(code <= 0x1c6 ? 0x1c5 : code <= 0x1c9 ? 0x1c8 : 0x1cb)
  if (code >= 0x1f1 && code <= 0x1f3) return '\u01f2'
  if ((code >= 0x10d0 && code <= 0x10fa) || (code >= 0x10fd && code <= 0x10ff)) return character
  if (code >= 0x1f80 && code <= 0x1faf) return String.fromCodePoint(code | 8)
  if (code === 0x1fb3 || code === 0x1fc3 || code === 0x1ff3) return String.fromCodePoint(code + 9)
  if (isTitleCharacter(character)) return character
  const upper = [...character.toUpperCase()]
  if (upper.length === 1) return upper[0] ?? character
  const rest = upper.slice(1).join('')
  // A combining mark or an iota stays as it is spelled in lower case: ŉ → ʼN, ᾲ → Ὰͅ, ß → Ss, ﬁ → Fi.
  if (code === 0x149) return '\u02bcN'
  return `${upper[0] ?? ''}${rest.replaceAll('\u0399', '\u0345').toLowerCase()}`
}

/** `str.lower()` of one character in its text: capital sigma at the end of a word is ς. */
function lowerAt(characters: readonly string[], index: number): string {
  const character = characters[index] ?? ''
  return character === 'Σ' && isFinalSigma(characters, index) ? 'ς' : character.toLowerCase()
}

function isFinalSigma(characters: readonly string[], index: number): boolean {
  let before = index - 1
  while (before >= 0 && /^\p{Case_Ignorable}$/u.test(characters[before] ?? '')) before -= 1
  if (before < 0 || !isCased(characters[before] ?? '')) return false
  let after = index + 1
  while (after < characters.length && /^\p{Case_Ignorable}$/u.test(characters[after] ?? '')) after += 1
  return after >= characters.length || !isCased(characters[after] ?? '')
}

/** `str.title()`: a capital after every character that has no case. */
export function titleCase(text: string): string {
  const characters = [...text]
  let previousIsCased = false
  let result = ''
  for (const [index, character] of characters.entries()) {
    result += previousIsCased ? lowerAt(characters, index) : titleCharacter(character)
    previousIsCased = isCased(character)
  }
  return result
}

/** `str.casefold()`: Cherokee folds to its capitals, a dotless i stays. */
export function caseFold(text: string): string {
  return [...text].map(foldCharacter).join('')
}

function foldCharacter(character: string): string {
  if (character === 'ı') return character
  if (/[\u13a0-\u13fd\uab70-\uabbf]/.test(character)) return character.toUpperCase()
  if (character === 'ẞ') return 'ss'
  return character.toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

/** `str.capitalize()`: the first character in title case, the rest in lower case. */
export function capitalize(text: string): string {
  const characters = [...text]
  return characters
    .map((character, index) => (index === 0 ? titleCharacter(character) : lowerAt(characters, index)))
    .join('')
}

/** `str.swapcase()`. */
export function swapCase(text: string): string {
  const characters = [...text]
  return characters
    .map((character, index) => {
      if (isUpperCharacter(character)) return lowerAt(characters, index)
      return isLowerCharacter(character) ? character.toUpperCase() : character
    })
    .join('')
}
