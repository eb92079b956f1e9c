import type { ChatReply, ChatRequest, StreamEvent } from '../protocol.ts'

const finishReasons = { stop: 'stop', stop_string: 'stop', tool_calls: 'tool_calls', length: 'length' } as const

/** A reply as one `chat.completion`. */
export function writeChatReply(reply: ChatReply): unknown {
  const { message } = reply
  return {
    id: reply.id,
    object: 'chat.completion',
    created: reply.createdAt,
    model: reply.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: message.content,
          refusal: null,
          ...(message.reasoning_content === undefined ? {} : { reasoning_content: message.reasoning_content }),
          ...(message.tool_calls === undefined ? {} : { tool_calls: message.tool_calls }),
        },
        logprobs: null,
        finish_reason: finishReasons[reply.finish],
      },
    ],
    usage: usageOf(reply),
  }
}

/** A reply as `chat.completion.chunk` events, ended by `[DONE]`. */
export function* writeChatStream(reply: ChatReply, request: ChatRequest): Generator<StreamEvent> {
  const base = {
    id: reply.id,
    object: 'chat.completion.chunk',
    created: reply.createdAt,
    model: reply.model,
    ...(request.wantsStreamUsage ? { usage: null } : {}),
  }
  const chunk = (delta: object, finishReason: string | null = null): StreamEvent => ({
    data: JSON.stringify({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }] }),
  })
  const { message } = reply
  yield chunk({ role: 'assistant', content: '' })
  if (message.reasoning_content !== undefined) yield chunk({ reasoning_content: message.reasoning_content })
  if (message.content !== null && message.content !== '') yield chunk({ content: message.content })
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const { name, arguments: argumentsText } = call.function
    yield chunk({ tool_calls: [{ index, id: call.id, type: 'function', function: { name, arguments: '' } }] })
    yield chunk({ tool_calls: [{ index, function: { arguments: argumentsText } }] })
  }
  yield chunk({}, finishReasons[reply.finish])
  if (request.wantsStreamUsage) yield { data: JSON.stringify({ ...base, choices: [], usage: usageOf(reply) }) }
  yield { data: '[DONE]' }
}

function usageOf({ usage }: ChatReply): unknown {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  }
}
