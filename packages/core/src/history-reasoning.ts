import { TrajectoryError } from '@agentrl/spec'

/**
 * What becomes of earlier reasoning where a template rewrites it, as Qwen3's
 * does at a new user message. `keep`: what was sampled stays as it was sampled.
 * `template`: the template is followed, by a full rendering.
 */
export type HistoryReasoning = 'keep' | 'template'

/** The field of a sample's metadata that says it. */
export const historyReasoningField = 'history_reasoning'

/** What is looked at in a sample, also where it was read back from a file. */
interface DescribedSample {
  readonly id: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/**
 * Refuses a batch that mixes the two: they are contexts of different policies.
 * Samples that say nothing pass. Throws `trajectory_mixed_history`.
 */
export function requireOneHistoryReasoning(samples: Iterable<DescribedSample>): void {
  let first: DescribedSample | null = null
  for (const sample of samples) {
    const said = sample.metadata[historyReasoningField]
    if (said === undefined) continue
    first ??= sample
    const expected = first.metadata[historyReasoningField]
    if (said === expected) continue
    throw new TrajectoryError(
      'trajectory_mixed_history',
      `One batch holds samples of one history of reasoning: ${first.id} has "${expected}", ${sample.id} has "${said}". ` +
        'Train runs with other values of historyReasoning apart',
      { details: { expected: String(expected), found: String(said) } },
    )
  }
}
