import type { Dialect } from '../dialect.ts'
import { type CallHead, type SectionedRules, sectionedJson } from './sectioned-json.ts'

/**
 * DeepSeek V3 and R1, and V3.1:
 *
 *     V3:   <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read
 *           ```json
 *           {"path": "a.py"}
 *           ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
 *     V3.1: <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a.py"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
 *
 * The bars are U+FF5C, the underscores U+2581. Each is read in place of the
 * other, as a repair: a V3 body under V3.1's rule would name a tool `function`.
 * Sources: SGLang `deepseekv3_detector.py`, `deepseekv31_detector.py`.
 */
const callOpen = '<｜tool▁call▁begin｜>'
const separator = '<｜tool▁sep｜>'
const callClose = '<｜tool▁call▁end｜>'

type Version = 'v3' | 'v31'

function deepseek(version: Version, encodeCall: SectionedRules['encodeCall']): Dialect {
  return sectionedJson({
    sectionOpens: ['<｜tool▁calls▁begin｜>'],
    sectionCloses: ['<｜tool▁calls▁end｜>'],
    callOpen,
    separator,
    callClose,
    endTokens: ['<｜end▁of▁sentence｜>'],
    mayNameFollow: true,
    readHead: (head, line) => readHead(head, line, version),
    encodeCall,
  })
}

/** In V3 the head is the type of the call, and a line with the name follows; in V3.1 the head is the name. */
function readHead(head: string, line: string | null, version: Version): CallHead {
  const isNative = (line !== null) === (version === 'v3')
  return { name: (line ?? head).trim(), id: null, repairs: isNative ? [] : ['cross_format'], hasFence: line !== null }
}

export const deepseekV3: Dialect = deepseek('v3', ({ name, argumentsText }) => {
  return `${callOpen}function${separator}${name}\n\`\`\`json\n${argumentsText}\n\`\`\`${callClose}`
})

export const deepseekV31: Dialect = deepseek('v31', ({ name, argumentsText }) => {
  return `${callOpen}${name}${separator}${argumentsText}${callClose}`
})
