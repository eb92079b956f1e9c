import type OpenAI from 'openai'

/** Chat messages with the reasoning that open-weight servers add and expect back. */
export type MiniMessage = OpenAI.Chat.ChatCompletionMessageParam | MiniAssistantMessage

export interface MiniAssistantMessage {
  readonly role: 'assistant'
  readonly content: string | null
  readonly reasoning_content?: string
  readonly tool_calls?: OpenAI.Chat.ChatCompletionMessageFunctionToolCall[]
}

export interface ReplyRequest {
  readonly model: string
  readonly messages: readonly MiniMessage[]
  readonly tools: readonly OpenAI.Chat.ChatCompletionFunctionTool[]
  readonly signal: AbortSignal
}

/**
 * One reply, collected from a stream: pings keep the connection open however
 * long the engine takes. Exactly what was received is what is sent back.
 */
export async function streamReply(
  client: OpenAI,
  request: ReplyRequest,
): Promise<{ message: MiniAssistantMessage; finishReason: string | null }> {
  const stream = await client.chat.completions.create(
    {
      model: request.model,
      messages: request.messages as OpenAI.Chat.ChatCompletionMessageParam[],
      tools: [...request.tools],
      stream: true,
    },
    { signal: request.signal },
  )
  let content = ''
  let reasoning = ''
  let finishReason: string | null = null
  const calls: { id: string; name: string; argumentsText: string }[] = []
  for await (const chunk of stream) {
    const choice = chunk.choices[0]
    if (choice === undefined) continue
    const delta: typeof choice.delta & { readonly reasoning_content?: string } = choice.delta
    content += delta.content ?? ''
    reasoning += delta.reasoning_content ?? ''
    for (const part of delta.tool_calls ?? []) {
      calls[part.index] ??= { id: '', name: '', argumentsText: '' }
      const call = calls[part.index] as (typeof calls)[number]
      call.id ||= part.id ?? ''
      call.name ||= part.function?.name ?? ''
      call.argumentsText += part.function?.arguments ?? ''
    }
    finishReason = choice.finish_reason ?? finishReason
  }
  const toolCalls = calls.map(({ id, name, argumentsText }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: argumentsText },
  }))
  const message: MiniAssistantMessage = {
    role: 'assistant',
    content: content === '' ? null : content,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  }
  return { message, finishReason }
}
