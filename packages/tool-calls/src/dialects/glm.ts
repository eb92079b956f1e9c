import { type Dialect, type EncodableCall, encodeBehindText } from '../dialect.ts'
import { mayEnd } from '../marker-filter.ts'
import { needMore } from '../source.ts'
import { writeParameters } from '../write-parameters.ts'
import { hermes } from './hermes.ts'
import { readJsonInstead } from './json-instead.ts'
import { type NameReader, tagGrammar } from './tag-grammar.ts'
import { readTaggedCalls, type TaggedDialect } from './tagged-calls.ts'

/**
 * GLM-4.5, 4.6, 4.7, 5:
 *
 *     <tool_call>get_weather
 *     <arg_key>city</arg_key>
 *     <arg_value>Paris</arg_value>
 *     </tool_call>
 *
 * From 4.7 on there are no line breaks between the tags; either is read as
 * either. Values are verbatim. Sources: SGLang `glm4_moe_detector.py`,
 * `glm47_moe_detector.py`, vLLM `parser/glm47_moe.py`.
 */
const opener = '<tool_call>'
const keyClose = '</arg_key>'
const valueOpen = '<arg_value>'
const maxLength = 300

const toolName = /^[\w.:/-]*$/

/** What `toolName` allows. */
function isNameCharacter(code: number): boolean {
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90)
  return isLetter || (code >= 45 && code <= 58) || code === 95
}

/** The name behind the opener, on its line, up to a line break (or the two characters of one) or the next tag. */
const readToolName: NameReader = (text, from, isEnded) => {
  let start = from
  let isExact = true
  for (; start < text.length && start - from < maxLength && text.charCodeAt(start) <= 32; start += 1) {
    if (text.charCodeAt(start) === 10) isExact = false
  }
  let end = start
  let isPlain = true
  for (; end < text.length && end - from < maxLength; end += 1) {
    const code = text.charCodeAt(end)
    if (code === 10 || code === 60 || code === 92) break
    isPlain &&= isNameCharacter(code)
  }
  if (end === text.length && !isEnded && end - from < maxLength) return needMore
  if (end === start) return { name: '', end, isExact: true }
  const name = isPlain ? text.slice(start, end) : text.slice(start, end).trim()
  return isPlain || toolName.test(name) ? { name, end, isExact: isExact || name === '' } : null
}

/** `KEY</arg_key> <arg_value>`, white space between them. */
const readKey: NameReader = (text, from, isEnded) => {
  if (hasNoKey(text, from)) return 'nameless'
  let end = from
  while (end < text.length && end - from < maxLength && text.charCodeAt(end) !== 60) end += 1
  const name = end === from ? '' : text.slice(from, end).trim()
  const hasClose = standsAt(keyClose, text, end)
  let place = hasClose ? end + keyClose.length : end
  let hasLiteral = false
  while (place < text.length && place - end < maxLength) {
    const code = text.charCodeAt(place)
    const isLiteral = code === 92 && text.charCodeAt(place + 1) === 110
    if (!isLiteral && code > 32) break
    hasLiteral ||= isLiteral
    place += isLiteral ? 2 : 1
  }
  const isComplete = standsAt(valueOpen, text, place)
  if (isComplete) return { name, end: place + valueOpen.length, isExact: hasClose && !hasLiteral && name !== '' }
  if (!isEnded && place - from < 2 * maxLength && mayContinue(text, end, place)) return needMore
  return { name, end: place, isExact: false, isComplete: false }
}

/** Whether another tag than those of keys and values follows at once, and enough of it to tell. */
function hasNoKey(text: string, from: number): boolean {
  const isTag = text.charCodeAt(from) === 60 && text.charCodeAt(from + 1) !== 47
  return isTag && from + valueOpen.length < text.length && !standsAt(valueOpen, text, from)
}

/** Compares the last character first: most tags differ there, and text is full of them. */
function standsAt(marker: string, text: string, index: number): boolean {
  return mayEnd(marker, text, index) && text.startsWith(marker, index)
}

/** Whether a text that ends may go on with the end of a key, or with the start of its value. */
function mayContinue(text: string, end: number, place: number): boolean {
  const rest = text.slice(place, place + valueOpen.length)
  return keyClose.startsWith(text.slice(end)) || valueOpen.startsWith(rest) || rest === '\\'
}

const tagged: TaggedDialect = {
  grammar: tagGrammar(
    [
      { kind: 'call-close', text: '</tool_call>' },
      { kind: 'parameter-close', text: '</arg_value>' },
    ],
    [
      { kind: 'call-open', prefix: opener, read: readToolName },
      { kind: 'parameter-open', prefix: '<arg_key>', read: readKey },
    ],
  ),
  hasLayoutBreaks: false,
  hasWrapper: false,
  callPrefix: null,
  callSuffix: null,
  json: 'repaired',
}

const endTokens: readonly string[] = ['<|observation|>', '<|user|>', '<|endoftext|>', '<|assistant|>']

function glm(separator: string): Dialect {
  return {
    openers: [opener],
    closers: hermes.closers,
    endTokens,
    judgeOpener: () => 'open',
    read: (source, sink) => readJsonInstead(source, sink, opener, hermes, () => readTaggedCalls(tagged, source, sink)),
    bare: null,
    encode: encodeBehindText((calls) => calls.map((call) => encodeCall(call, separator)).join('\n')),
  }
}

function encodeCall({ name, argumentsText }: EncodableCall, separator: string): string {
  const parameters = writeParameters(argumentsText, (key, value) => {
    return `<arg_key>${key}</arg_key>${separator}<arg_value>${value}</arg_value>${separator}`
  })
  return `${opener}${name}${separator}${parameters}</tool_call>`
}

export const glm45: Dialect = glm('\n')
export const glm47: Dialect = glm('')
