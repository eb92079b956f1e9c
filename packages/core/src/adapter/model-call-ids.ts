import type { Message } from '@agentrl/spec'

/**
 * Some models write the ids of their calls, and read them again beside the
 * results (Kimi's `functions.ls:0`). Clients get ids of ours, because those of
 * models break their rules; templates get the model's own back.
 */
export function withModelCallIds(
  messages: readonly Message[],
  modelIds: ReadonlyMap<string, string>,
): readonly Message[] {
  if (modelIds.size === 0) return messages
  return messages.map((message): Message => {
    if (message.role === 'tool' && message.tool_call_id !== undefined) {
      return { ...message, tool_call_id: modelIds.get(message.tool_call_id) ?? message.tool_call_id }
    }
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message
    const calls = message.tool_calls.map((call) =>
      call.id === undefined ? call : { ...call, id: modelIds.get(call.id) ?? call.id },
    )
    return { ...message, tool_calls: calls }
  })
}
