import { findReasoningFormat, type ReasoningFormatName } from '@agentrl/tool-calls'

/** Whether a prompt leaves reasoning open, so that a reply starts inside it. */
export function opensReasoning(promptTail: string, format: ReasoningFormatName): boolean {
  const { tags } = findReasoningFormat(format)
  return tags !== null && promptTail.trimEnd().endsWith(tags.open)
}
