import { WireError } from '@agentrl/spec'

/** Tokens kept free for a reply: an eighth of the window, 256 to 1024, and never more than half of it. */
export function reservedTokens(maxContextTokens: number): number {
  return Math.min(Math.floor(maxContextTokens / 2), Math.min(1024, Math.max(256, Math.floor(maxContextTokens / 8))))
}

/**
 * Tokens that the reply may have. A prompt that leaves less than the reserve is
 * refused in the words that make clients compact their history. Throws
 * `wire_context_overflow`.
 */
export function replyBudget(limits: {
  readonly promptTokens: number
  readonly maxContextTokens: number
  readonly maxGenerationTokens: number
  readonly clientMaxTokens: number | null
}): number {
  const maximum = limits.maxContextTokens - reservedTokens(limits.maxContextTokens)
  if (limits.promptTokens > maximum) {
    throw new WireError(
      'wire_context_overflow',
      `prompt is too long: ${limits.promptTokens} tokens > ${maximum} maximum. ` +
        `This model's maximum context length is ${limits.maxContextTokens} tokens.`,
      { details: { promptTokens: limits.promptTokens, maximum } },
    )
  }
  return Math.min(
    limits.maxGenerationTokens,
    limits.maxContextTokens - limits.promptTokens,
    limits.clientMaxTokens ?? Number.POSITIVE_INFINITY,
  )
}
