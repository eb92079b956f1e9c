import type { FinishReason } from '@agentrl/spec'

/**
 * How the prompt of a turn relates to the tokens that a sample already holds.
 *
 *   held    ──────────────┬────── last response ──────┐
 *   prompt  ──────────────┴───────────x~~~~~~~~~~~~~~~~~
 *                                     └ first difference
 *
 * clean    the prompt extends what is held, token for token
 * realign  the prompt departs inside the last response, in a way that the
 *          alignment mode allows to absorb: the departed tokens stop training
 * fork     it departs earlier, or too much is lost by absorbing: the held
 *          tokens stay as they are, and the turn opens a sample of its own
 */
export interface Drift {
  readonly kind: 'clean' | 'realign' | 'fork'
  /** Tokens from the start on which held tokens and prompt agree. */
  readonly commonTokens: number
  /** Held tokens that the prompt does not repeat. 0 when clean. */
  readonly driftTokens: number
}

/**
 * `rerender`: prompts are rendered anew each turn, so a short re-tokenization is
 * expected. The whole last response stops training if the new turn's output is
 * shorter than `forkThresholdTokens`. Equal to slime's TrajectoryManager.
 *
 * `inherit`: prompts repeat the sampled ids. The only departure to absorb is the
 * last sampled id, when it is a stop id that the template does not write there;
 * everything before the first difference stays trained.
 */
export type AlignmentMode = 'inherit' | 'rerender'

/** The length of the common prefix of two id arrays. Linear in it. */
export function commonPrefixLength(left: ArrayLike<number>, right: ArrayLike<number>): number {
  const limit = Math.min(left.length, right.length)
  let index = 0
  while (index < limit && left[index] === right[index]) index += 1
  return index
}

export interface DriftContext {
  /** Tokens held, and how many of them from the start on the prompt repeats. */
  readonly heldTokens: number
  readonly commonTokens: number
  /** Where the last response starts in the held tokens, and how it ended. */
  readonly lastResponseStart: number
  readonly lastFinishReason: FinishReason
  /** Ids that the new turn sampled. */
  readonly outputTokens: number
  readonly alignment: AlignmentMode
  readonly forkThresholdTokens: number
}

/** Decides how a turn joins what is held. */
export function driftOf(context: DriftContext): Drift {
  const { heldTokens, commonTokens, alignment } = context
  const driftTokens = heldTokens - commonTokens
  if (driftTokens === 0) return { kind: 'clean', commonTokens, driftTokens }
  const isInLastResponse = commonTokens >= context.lastResponseStart
  const isAbsorbed =
    alignment === 'rerender'
      ? context.outputTokens < context.forkThresholdTokens
      : driftTokens === 1 && context.lastFinishReason === 'stop'
  return { kind: isInLastResponse && isAbsorbed ? 'realign' : 'fork', commonTokens, driftTokens }
}
