import type { Message, ToolMessage } from '@agentrl/spec'

/**
 * Parallel calls may come back in the order in which they ended. The model
 * called them in another, and a template numbers nothing: each run of tool
 * results after an assistant message is put back into the order of its calls.
 * Results without a known id keep their places at the end.
 */
export function restoreCallOrder(messages: readonly Message[]): readonly Message[] {
  const ordered: Message[] = []
  let index = 0
  while (index < messages.length) {
    const message = messages[index] as Message
    ordered.push(message)
    index += 1
    if (message.role !== 'assistant' || message.tool_calls === undefined) continue
    const results: ToolMessage[] = []
    for (let next = messages[index]; next?.role === 'tool'; next = messages[index]) {
      results.push(next)
      index += 1
    }
    const ranks = new Map(message.tool_calls.map((call, rank) => [call.id, rank]))
    const rankOf = (result: ToolMessage): number => ranks.get(result.tool_call_id) ?? ranks.size
    ordered.push(...results.sort((left, right) => rankOf(left) - rankOf(right)))
  }
  return ordered
}
