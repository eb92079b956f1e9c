import type { JsonValue } from '@agentrl/spec'

/** One request of a recorded client, with what the recording's server answered. */
export interface RecordedRequest {
  readonly i: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonValue
  /** Null for probes and for requests that were answered with an error. */
  readonly reply: RecordedReply | null
  readonly status: number | null
}

export interface RecordedReply {
  readonly reasoning: string
  readonly text: string
  /** `args` is JSON text as sent, and not always valid. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[]
  readonly finish?: string
}

/** What Qwen3 samples to say a recorded reply: arguments as they were sent, valid or not. */
export function writeRecordedReply({ reasoning, text, calls }: RecordedReply): string {
  const thought = reasoning === '' ? '' : `<think>\n${reasoning}\n</think>\n\n`
  const written = calls.map(
    ({ name, args }) => `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>`,
  )
  return `${thought}${[text, ...written].filter((part) => part !== '').join('\n')}`
}
