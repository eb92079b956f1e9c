/** Variables that are known at a place in a Dockerfile. */
export type Variables = Record<string, string>

/** The value of a variable; undefined: not known. Names such as `constructor` are names like any other. */
export function lookUp(variables: Variables, name: string): string | undefined {
  return Object.hasOwn(variables, name) ? variables[name] : undefined
}

const reference = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::([-+])([^}]*))?\})/

/** The value of a reference at the start of `text`, and its length. Null: the dollar stands for itself. */
function readReference(text: string, variables: Variables): { value: string | undefined; length: number } | null {
  const match = reference.exec(text)
  if (!match) return null
  const value = lookUp(variables, match[1] ?? match[2] ?? '')
  const [whole, , , operator, alternative = ''] = match
  if (operator === '-') return { value: value || alternative, length: whole.length }
  if (operator === '+') return { value: value ? alternative : '', length: whole.length }
  return { value, length: whole.length }
}

/** The longest reference that is looked for, in characters. */
const maxReferenceLength = 512

/**
 * Splits the text of an instruction into words as Docker does: quotes group,
 * a backslash takes the next character as it is, variables are put in outside
 * single quotes. `isResolved` is false where a variable is not known; it then
 * stands as written. With `isOneWord`, white space does not split. Linear in
 * the length of the text.
 */
export function expandWords(
  text: string,
  variables: Variables,
  { isOneWord = false }: { readonly isOneWord?: boolean } = {},
): { words: string[]; isResolved: boolean } {
  const words: string[] = []
  let word: string | null = null
  let quote = ''
  let isResolved = true
  let index = 0
  while (index < text.length) {
    const character = text.charAt(index)
    index += 1
    if (quote === '' && !isOneWord && /\s/.test(character)) {
      if (word !== null) words.push(word)
      word = null
      continue
    }
    word ??= ''
    if (character === quote) quote = ''
    else if (quote === '' && (character === '"' || character === "'")) quote = character
    else if (character === '\\' && (quote === '' || (quote === '"' && /["$\\]/.test(text.charAt(index))))) {
      word += text.charAt(index)
      index += 1
    } else if (character === '$' && quote !== "'") {
      const found = readReference(text.slice(index - 1, index - 1 + maxReferenceLength), variables)
      if (found?.value === undefined) {
        word += character
        isResolved &&= found === null
      } else {
        word += found.value
        index += found.length - 1
      }
    } else word += character
  }
  if (word !== null) words.push(word)
  return { words, isResolved }
}
