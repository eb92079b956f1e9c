import type { AssistantMessage, Message, ToolDefinition } from '@agentrl/spec'

/**
 * The conversations that a template is certified with: what stands before a
 * reply, the reply, and what comes after it.
 */
export interface CertifiedShape {
  readonly name: string
  readonly before: readonly Message[]
  readonly reply: AssistantMessage
  /** The last value of the reply, as it stands in rendered text. */
  readonly lastValue: string
  readonly added: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  /** Where the engine cut the reply; null if it ended by itself. */
  readonly cut: 'text' | 'reasoning' | null
}

const listTool: ToolDefinition = {
  type: 'function',
  function: {
    name: 'list_files',
    description: 'Lists the files of a folder.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
}

/** Nine letters and digits, which every template takes. */
const callId = (callNumber: number): string => `call${String(callNumber).padStart(5, '0')}`

const lastText = 'Nothing is left to do'
const lastReasoning = 'There may be more to see'
const lastPath = 'src/last'

const system = (content: string): Message => ({ role: 'system', content })
const user = (content: string): Message => ({ role: 'user', content })

function call(path: string, callNumber: number) {
  return {
    id: callId(callNumber),
    type: 'function' as const,
    function: { name: 'list_files', arguments: JSON.stringify({ path }) },
  }
}

function result(content: string, callNumber: number): Message {
  return { role: 'tool', content, tool_call_id: callId(callNumber), name: 'list_files' }
}

const text: AssistantMessage = { role: 'assistant', content: lastText }
const oneCall: AssistantMessage = { role: 'assistant', content: '', tool_calls: [call(lastPath, 8)] }
const twoCalls: AssistantMessage = { role: 'assistant', content: '', tool_calls: [call('src', 7), call(lastPath, 8)] }
const thinking = { reasoning_content: 'First I look around.' }

/** The reasoning of a reply, where it has some. */
export const replyReasoning = 'Now I know enough.'
const reasoned = { reasoning_content: replyReasoning }

const opening: readonly Message[] = [system('You are a careful programmer.'), user('What is in src?')]
const rounds: readonly Message[] = [
  ...opening,
  { role: 'assistant', content: '', ...thinking, tool_calls: [call('a', 1)] },
  result('one.ts\ntwo.ts\n', 1),
  { role: 'assistant', content: '', ...thinking, tool_calls: [call('b', 2)] },
  result('', 2),
]

/** `spelledTokens` stand in results as text: what a result holds must not matter. */
export function certifiedShapes(spelledTokens: string): readonly CertifiedShape[] {
  const nasty = `"one.ts"\n\ttwo.ts & <three> ${spelledTokens} ünï 東 😀\n`
  const base = { before: opening, tools: [listTool], cut: null } as const
  const ofText = { ...base, reply: text, lastValue: lastText } as const
  const ofCall = { ...base, reply: oneCall, lastValue: lastPath } as const
  const results = [result(nasty, 8)]
  return [
    { ...ofCall, name: 'tool result', added: results },
    { ...ofCall, name: 'tool result after reasoning', reply: { ...oneCall, ...reasoned }, added: results },
    {
      ...ofCall,
      name: 'tool result after two rounds',
      before: rounds,
      reply: { ...oneCall, ...reasoned },
      added: results,
    },
    { ...ofCall, name: 'parallel calls', reply: twoCalls, added: [result('x', 7), result(nasty, 8)] },
    { ...ofCall, name: 'tool result and user', added: [...results, user('And now?')] },
    { ...ofCall, name: 'tool result and system', added: [...results, system('Mind the time.')] },
    { ...ofCall, name: 'user instead of a result', added: [user('Stop.')] },
    { ...ofText, name: 'user', added: [user('And now?')] },
    { ...ofText, name: 'user, no tools', before: [user('What is in src?')], tools: [], added: [user('And now?')] },
    { ...ofText, name: 'user after reasoning', reply: { ...text, ...reasoned }, added: [user('And now?')] },
    {
      ...ofText,
      name: 'user after two rounds',
      before: rounds,
      reply: { ...text, ...reasoned },
      added: [user('And?')],
    },
    { ...ofText, name: 'user after two rounds and a plain text', before: rounds, added: [user('And?')] },
    { ...ofText, name: 'system in mid-list', added: [system('Mind the time.'), user('And now?')] },
    { ...ofText, name: 'no new message', added: [] },
    { ...ofText, name: 'user after a cut text', added: [user('Go on.')], cut: 'text' },
    {
      ...ofText,
      name: 'cut reasoning',
      reply: { role: 'assistant', content: '', reasoning_content: lastReasoning },
      lastValue: lastReasoning,
      added: [],
      cut: 'reasoning',
    },
  ]
}
