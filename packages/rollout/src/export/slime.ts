import type { RoutedExperts, Sample } from '@agentrl/spec'
import { float32Text } from './float32-text.ts'

/**
 * slime's `Sample.to_dict` (slime 624b824a, `slime/utils/types.py`), one JSON
 * line a sample. Lengths: `loss_mask` and `rollout_log_probs` are as long as the
 * response, which is everything after the first prompt.
 *
 * A null reward is written as 0.0 with `metadata.reward_valid` false and
 * `remove_sample` true, because slime raises on None.
 *
 * `rollout_routed_experts` is a nested list of [tokens − 1][layers][top k],
 * which slime makes a tensor of (`slime/ray/rollout.py`); it takes batches in
 * which all samples have it, or none.
 */
export interface SlimeRow {
  /** Position of the sample in the file. */
  readonly index: number
  /** Position of the task in the run: the group of its attempts. */
  readonly groupIndex: number
  /** Unique for an attempt; samples that fanned out of it share it. */
  readonly rolloutIndex: number
  readonly prompt: string
  readonly label: string
  /** The decoded response, for people. */
  readonly response: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** A sample as one line of slime's JSONL, without the line end. Linear in its tokens. */
export function slimeLine(sample: Sample, row: SlimeRow): string {
  const fields = {
    group_index: row.groupIndex,
    index: row.index,
    rollout_id: row.rolloutIndex,
    prompt: row.prompt,
    label: row.label,
    response: row.response,
    response_length: sample.responseLength,
    reward: sample.reward ?? 0,
    status: sample.status,
    remove_sample: sample.isRemoved || sample.reward === null,
    weight_versions: sample.weightVersions,
    metadata: { ...sample.metadata, ...row.metadata, reward_valid: sample.reward !== null },
  }
  const arrays = [
    `"tokens":[${(sample.tokens as Int32Array).join(',')}]`,
    `"loss_mask":[${(sample.lossMask as Uint8Array).join(',')}]`,
    `"rollout_log_probs":[${Array.from(sample.logprobs, float32Text).join(',')}]`,
    ...(sample.routedExperts === undefined ? [] : [`"rollout_routed_experts":${expertsText(sample.routedExperts)}`]),
  ]
  return `${JSON.stringify(fields).slice(0, -1)},${arrays.join(',')}}`
}

function expertsText({ layers, topK, indices }: RoutedExperts): string {
  const listOf = (length: number, item: (index: number) => string): string =>
    `[${Array.from({ length }, (_, index) => item(index)).join(',')}]`
  return listOf(indices.length / (layers * topK), (position) =>
    listOf(layers, (layer) => {
      const start = (position * layers + layer) * topK
      return `[${indices.subarray(start, start + topK).join(',')}]`
    }),
  )
}

/** The line that stands for an attempt without samples, so that its group is complete. slime's own placeholder. */
export function slimePlaceholderLine(row: SlimeRow, abortReason: string): string {
  return JSON.stringify({
    group_index: row.groupIndex,
    index: row.index,
    rollout_id: row.rolloutIndex,
    prompt: row.prompt,
    label: row.label,
    response: '',
    response_length: 1,
    reward: 0,
    status: 'aborted',
    remove_sample: true,
    weight_versions: [],
    metadata: { ...row.metadata, abort_reason: abortReason, reward_valid: false },
    tokens: [0, 0],
    loss_mask: [0],
    rollout_log_probs: [0],
  })
}
