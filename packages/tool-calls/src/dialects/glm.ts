import { type Dialect, type EncodableCall, encodeBehindText } from '../dialect.ts'
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

/** The name behind the opener, on its line, up to a line break (or the two characters of one) or the next tag. */
const readToolName: NameReader = (text, from, isEnded) => {
  let start = from
  while (start < text.length && start - from < maxLength && text.charCodeAt(start) <= 32) start += 1
  let end = start
  for (; end < text.length && end - from < maxLength; end += 1) {
    const code = text.charCodeAt(end)
    if (code === 10 || code === 60 || code === 92) break
  }
  if (end === text.length && !isEnded && end - from < maxLength) return needMore
  if (end === start) return { name: '', end, isExact: true }
  const name = text.slice(start, end).trim()
  const isExact = name === '' || !text.slice(from, start).includes('\n')
  return toolName.test(name) ? { name, end, isExact } : null
}

/** `KEY</arg_key> <arg_value>`, white space between them. */
const readKey: NameReader = (text, from, isEnded) => {
  let end = from
  while (end < text.length && end - from < maxLength && text.charCodeAt(end) !== 60) end += 1
  const name = text.slice(from, end).trim()
  const hasClose = text.startsWith(keyClose, end)
  let place = hasClose ? end + keyClose.length : end
  let hasLiteral = false
  while (place < text.length && place - end < maxLength) {
    const isLiteral = text.startsWith('\\n', place)
    const isSpace = text.charCodeAt(place) <= 32
    if (!isLiteral && !isSpace) break
    hasLiteral ||= isLiteral
    place += isLiteral ? 2 : 1
  }
  const rest = text.slice(place, place + valueOpen.length)
  const mayContinue = (): boolean => {
    return keyClose.startsWith(text.slice(end)) || valueOpen.startsWith(rest) || rest === '\\'
  }
  if (!isEnded && place - from < 2 * maxLength && rest !== valueOpen && mayContinue()) return needMore
  if (rest !== valueOpen) return { name, end: place, isExact: false, isComplete: false }
  return { name, end: place + valueOpen.length, isExact: hasClose && !hasLiteral && name !== '' }
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
