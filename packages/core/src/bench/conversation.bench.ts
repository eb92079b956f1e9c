import { seededRandom } from '@agentrl/spec'

/**
 * The conversation that both sides of `bench:alignment` work on: a coding agent
 * with a fixed set of tools, each turn reasoning, a call and its result, all of
 * one size, so that turn 5 and turn 50 have equal new bytes. Made up, repeatable.
 */
export interface BenchConversation {
  /** The Chat bodies of the client, in order, as text. */
  readonly bodies: readonly string[]
  /** What the model samples, in order, without its stop token. */
  readonly outputs: readonly string[]
}

export interface ConversationSize {
  readonly turns: number
  readonly tools: number
  /** Characters of the system message. */
  readonly systemCharacters: number
  /** Characters of each tool's description. */
  readonly descriptionCharacters: number
  /** Characters of each result. */
  readonly resultCharacters: number
}

/** About 40,000 tokens of Qwen3's at turn 50. */
export const codingAgent: ConversationSize = {
  turns: 50,
  tools: 19,
  systemCharacters: 6000,
  descriptionCharacters: 1100,
  resultCharacters: 1350,
}

const words =
  'the of a to in is that for it as was with be by on not this are or from at which an have value string return const function import export type interface number test file path line error message request session token model prompt build cache index array object map filter reduce async await promise stream buffer parse write read open close check valid'.split(
    ' ',
  )

export function makeConversation(size: ConversationSize, seed = 7): BenchConversation {
  const random = seededRandom(seed)
  const word = (): string => words[Math.floor(random() * words.length)] ?? 'word'
  const prose = (characters: number): string => {
    let text = ''
    while (text.length < characters) text += `${word()} `
    return text.slice(0, characters)
  }
  const code = (characters: number): string => {
    let text = ''
    for (let line = 1; text.length < characters; line += 1) {
      text += `${String(line).padStart(4)}  const ${word()}${line} = ${word()}(${word()}, { ${word()}: ${Math.floor(random() * 1e6)} })\n`
    }
    return text.slice(0, characters)
  }
  const tools = Array.from({ length: size.tools }, (_, index) => ({
    type: 'function',
    function: {
      name: `Tool${index}`,
      description: prose(size.descriptionCharacters),
      parameters: {
        type: 'object',
        properties: {
          path: { type: 'string', description: prose(80) },
          command: { type: 'string', description: prose(80) },
          timeout: { type: 'number', description: prose(60) },
          recursive: { type: 'boolean', description: prose(60) },
        },
        required: ['path', 'command'],
        additionalProperties: false,
      },
    },
  }))
  const messages: unknown[] = [
    { role: 'system', content: prose(size.systemCharacters) },
    { role: 'user', content: prose(400) },
  ]
  const bodies: string[] = []
  const outputs: string[] = []
  for (let turn = 0; turn < size.turns; turn += 1) {
    bodies.push(JSON.stringify({ model: 'policy', stream: false, messages, tools }))
    const reasoning = prose(300).trim()
    const name = `Tool${turn % size.tools}`
    const values = { path: `src/${word()}/${word()}.ts`, command: `${word()} ${word()} --${word()} ${turn + 100}` }
    const argumentsText = `{"path": ${JSON.stringify(values.path)}, "command": ${JSON.stringify(values.command)}}`
    outputs.push(
      `<think>\n${reasoning}\n</think>\n\n<tool_call>\n{"name": "${name}", "arguments": ${argumentsText}}\n</tool_call>`,
    )
    const id = `call_${turn}`
    messages.push({
      role: 'assistant',
      content: null,
      reasoning_content: reasoning,
      tool_calls: [{ id, type: 'function', function: { name, arguments: argumentsText } }],
    })
    messages.push({ role: 'tool', tool_call_id: id, content: code(size.resultCharacters) })
  }
  return { bodies, outputs }
}
