/**
 * What a prefix cache would have served: the last sequence of each
 * conversation. The oldest conversation is forgotten beyond 1024.
 */
export interface PrefixMemory {
  /** How many prompt ids the conversation's last sequence already held; at most all but one. Then remembers this one. */
  reuse(conversationId: string, sequence: { readonly inputIds: Int32Array; readonly outputIds: Int32Array }): number
  clear(): void
}

const maxConversations = 1024

export function createPrefixMemory(): PrefixMemory {
  const sequences = new Map<string, Int32Array>()
  return {
    reuse(conversationId, { inputIds, outputIds }) {
      const known = sequences.get(conversationId) ?? new Int32Array()
      const difference = inputIds.findIndex((id, index) => id !== known[index])
      const sequence = new Int32Array(inputIds.length + outputIds.length)
      sequence.set(inputIds)
      sequence.set(outputIds, inputIds.length)
      sequences.delete(conversationId)
      sequences.set(conversationId, sequence)
      const [oldest] = sequences.keys()
      if (sequences.size > maxConversations && oldest !== undefined) sequences.delete(oldest)
      return Math.min(difference < 0 ? inputIds.length : difference, inputIds.length - 1)
    },
    clear: () => sequences.clear(),
  }
}
