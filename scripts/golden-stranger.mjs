/**
 * Runs in a stranger's project: plays recorded sessions of slime's
 * TrajectoryManager through the installed `@agentrl/core` and compares every
 * token, mask, log-probability and metadata field. Argument: a file of rows,
 * JSON lines or one JSON array.
 */
import { deepStrictEqual } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Trajectory } from '@agentrl/core'

const text = readFileSync(process.argv[2], 'utf8').trim()
const rows = text.startsWith('[') ? JSON.parse(text) : text.split('\n').map((line) => JSON.parse(line))

for (const row of rows) {
  const trajectory = new Trajectory({ alignment: 'rerender', forkThresholdTokens: row.fork_threshold })
  for (const turn of row.turns) {
    trajectory.recordTurn({
      turn: {
        promptIds: Int32Array.from(turn.prompt_ids),
        outputIds: Int32Array.from(turn.output_ids),
        outputLogprobs: Float32Array.from(turn.output_log_probs),
        finishReason: turn.finish_reason,
        illFormed: turn.ill_formed,
      },
      promptMessages: turn.prompt_messages,
      responseMessage: turn.response_message,
    })
  }
  const { samples } = trajectory.linearize({ reward: 1, metadata: { k: 1 }, maxSampleTokens: row.max_sample_tokens })
  const ours = samples.map((sample) => ({
    tokens: [...sample.tokens],
    response_length: sample.responseLength,
    loss_mask: [...sample.lossMask],
    rollout_log_probs: [...sample.logprobs],
    metadata: { ...sample.metadata },
  }))
  const theirs = row.samples.map(({ reward: _, ...sample }) => ({
    ...sample,
    rollout_log_probs: [...Float32Array.from(sample.rollout_log_probs)],
  }))
  deepStrictEqual(ours, theirs, `row with seed ${row.seed} differs`)
}
console.log(`${rows.length} rows equal`)
