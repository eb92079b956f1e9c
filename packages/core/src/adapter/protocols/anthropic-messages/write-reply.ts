import type { ChatReply, StreamEvent } from '../protocol.ts'

const stopReasons = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  stop_string: 'stop_sequence',
} as const

/** Clients send a signature back without reading it. */
const thinkingSignature = 'agentrl'

type ReplyBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }

/** A reply as one `message`. */
export function writeMessagesReply(reply: ChatReply): unknown {
  return {
    ...messageHead(reply),
    content: blocksOf(reply),
    stop_reason: stopReasons[reply.finish],
    stop_sequence: null,
    usage: usageOf(reply, reply.usage.completionTokens),
  }
}

/** A reply as the events of a message stream. */
export function* writeMessagesStream(reply: ChatReply): Generator<StreamEvent> {
  yield event('message_start', {
    message: { ...messageHead(reply), content: [], stop_reason: null, stop_sequence: null, usage: usageOf(reply, 0) },
  })
  for (const [index, block] of blocksOf(reply).entries()) {
    yield event('content_block_start', { index, content_block: emptyBlock(block) })
    for (const delta of deltasOf(block)) yield event('content_block_delta', { index, delta })
    yield event('content_block_stop', { index })
  }
  yield event('message_delta', {
    delta: { stop_reason: stopReasons[reply.finish], stop_sequence: null },
    usage: usageOf(reply, reply.usage.completionTokens),
  })
  yield event('message_stop', {})
}

function event(type: string, fields: object): StreamEvent {
  return { event: type, data: JSON.stringify({ type, ...fields }) }
}

function messageHead(reply: ChatReply) {
  return { id: reply.id, type: 'message', role: 'assistant', model: reply.model }
}

function blocksOf({ message }: ChatReply): ReplyBlock[] {
  const blocks: ReplyBlock[] = []
  if (message.reasoning_content !== undefined) {
    blocks.push({ type: 'thinking', thinking: message.reasoning_content, signature: thinkingSignature })
  }
  if (message.content !== null && message.content !== '') blocks.push({ type: 'text', text: message.content })
  for (const call of message.tool_calls ?? []) {
    const { name, arguments: argumentsText } = call.function
    const input: unknown = typeof argumentsText === 'string' ? JSON.parse(argumentsText) : argumentsText
    blocks.push({ type: 'tool_use', id: call.id ?? '', name, input })
  }
  return blocks
}

function emptyBlock(block: ReplyBlock): ReplyBlock {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' }
    case 'text':
      return { ...block, text: '' }
    case 'tool_use':
      return { ...block, input: {} }
  }
}

function* deltasOf(block: ReplyBlock): Generator<object> {
  switch (block.type) {
    case 'thinking':
      yield { type: 'thinking_delta', thinking: block.thinking }
      yield { type: 'signature_delta', signature: block.signature }
      return
    case 'text':
      yield { type: 'text_delta', text: block.text }
      return
    case 'tool_use':
      yield { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
  }
}

function usageOf({ usage }: ChatReply, outputTokens: number) {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation_input_tokens: 0,
    output_tokens: outputTokens,
  }
}
