import type { TokenIds, Turn } from '@agentrl/spec'
import { parseModelOutput } from '@agentrl/tool-calls'
import { concatenateIds } from '../render/concatenate-ids.ts'
import type { RenderedPrompt, RenderRequest } from '../render/renderer.ts'
import { opensReasoning } from './opens-reasoning.ts'
import type { TurnParts } from './turn-parts.ts'

/**
 * The prompt of a turn that continues an earlier one (law 2):
 *
 *   prompt ids of that turn ++ its sampled ids ++ what the template writes for the new messages
 *                                  └ without their last, where the template writes another stop id
 */
export interface ContinuedTurn extends RenderRequest {
  readonly turn: Turn
  /** Messages from the start on that `turn` accounts for; the last of them is its reply. */
  readonly inheritedMessages: number
}

type ContinueParts = Pick<TurnParts, 'renderer' | 'tokenizer' | 'stopTokenIds' | 'toolCallFormat' | 'reasoningFormat'>

/** Null where the template can't be continued at this place. Throws `trajectory_template`. */
export async function inheritPrompt(continued: ContinuedTurn, parts: ContinueParts): Promise<RenderedPrompt | null> {
  const { turn, messages, tools, inheritedMessages } = continued
  const stopTokenId = stopTokenOf(turn.outputIds, parts.stopTokenIds)
  const suffix = await parts.renderer.renderSuffix({
    messages,
    tools,
    inheritedMessages,
    stopTokenId,
    isReasoningOpen: stopTokenId === null && (await isCutInReasoning(turn, parts)),
  })
  if (suffix === null) return null
  const { dropsStopToken, ...rendered } = suffix
  const kept = dropsStopToken ? turn.outputIds.slice(0, -1) : turn.outputIds
  return { ...rendered, ids: concatenateIds([turn.promptIds, kept, suffix.ids]) }
}

/** The stop id that an output ends in; null if it was cut. */
export function stopTokenOf(outputIds: TokenIds, stopTokenIds: readonly number[]): number | null {
  const last = outputIds.at(-1)
  return last !== undefined && stopTokenIds.includes(last) ? last : null
}

/** Prompt ids that are decoded to see whether reasoning is open at the prompt's end. */
const tailTokens = 32

/** Whether nothing but reasoning was sampled, and its end was not. */
async function isCutInReasoning({ promptIds, outputIds }: Turn, parts: ContinueParts): Promise<boolean> {
  const [promptTail, rawText] = await Promise.all([
    parts.tokenizer.decode(promptIds.slice(-tailTokens)),
    parts.tokenizer.decode(outputIds),
  ])
  const thinking = opensReasoning(promptTail, parts.reasoningFormat)
  const { reasoning } = parseModelOutput(rawText, {
    format: parts.toolCallFormat,
    reasoning: parts.reasoningFormat,
    thinking,
    finishReason: 'length',
  })
  const written = rawText.trimEnd()
  return reasoning === '' ? thinking && written === '' : written.endsWith(reasoning)
}
