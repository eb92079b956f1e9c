import type { ExecOutcome, Sandbox } from '@agentrl/sandbox'
import { excerpt } from '@agentrl/spec'
import type OpenAI from 'openai'

/** What the embedded agent can do: run a command. */
export const miniTools: readonly OpenAI.Chat.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'bash',
      description: 'Runs a command with bash in the project folder and returns what it prints and its exit code.',
      parameters: {
        type: 'object',
        properties: {
          command: { type: 'string', description: 'The command line.' },
          timeout_seconds: { type: 'integer', minimum: 1, maximum: 600, description: 'Default 120.' },
        },
        required: ['command'],
      },
    },
  },
]

const maxResultCharacters = 16_000

/** Runs a call and gives the text of its result; a call that makes no sense gets an answer that says so. */
export async function runTool(
  sandbox: Sandbox,
  call: { readonly name: string; readonly arguments: string },
  options: { readonly user?: string; readonly signal?: AbortSignal },
): Promise<string> {
  if (call.name !== 'bash') return `There is no tool "${excerpt(call.name)}"; the only tool is bash.`
  const read = readBashArguments(call.arguments)
  if (typeof read === 'string') return read
  const outcome = await sandbox.exec(['bash', '-c', read.command], {
    timeoutMs: read.timeoutSeconds * 1000,
    overflow: 'keep-tail',
    maxOutputBytes: 1024 * 1024,
    ...(options.user === undefined ? {} : { user: options.user }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
  options.signal?.throwIfAborted()
  return describeOutcome(outcome)
}

function readBashArguments(text: string): { command: string; timeoutSeconds: number } | string {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return 'The arguments are not valid JSON.'
  }
  const fields = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>) : {}
  if (typeof fields.command !== 'string') return 'bash needs "command", a string.'
  const seconds = fields.timeout_seconds ?? 120
  if (typeof seconds !== 'number' || !(seconds >= 1 && seconds <= 600)) {
    return 'timeout_seconds is a number from 1 to 600.'
  }
  return { command: fields.command, timeoutSeconds: Math.floor(seconds) }
}

function describeOutcome(outcome: ExecOutcome): string {
  const output = cutMiddle([outcome.stdout, outcome.stderr].filter((text) => text !== '').join('\n'))
  switch (outcome.kind) {
    case 'exited':
      return `${output}${output.endsWith('\n') || output === '' ? '' : '\n'}[exit code ${outcome.exitCode}]`
    case 'timed_out':
      return `${output}\n[ended after ${outcome.timeoutMs / 1000} s]`
    case 'overflow':
      return `${output}\n[ended: it printed more than ${outcome.maxOutputBytes} bytes]`
    case 'cancelled':
      return `${output}\n[cancelled]`
  }
}

function cutMiddle(text: string): string {
  if (text.length <= maxResultCharacters) return text
  const half = maxResultCharacters / 2
  return `${text.slice(0, half)}\n[${text.length - maxResultCharacters} characters left out]\n${text.slice(-half)}`
}
