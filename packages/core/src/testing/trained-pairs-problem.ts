import type { Logprobs, Sample, TokenIds } from '@agentrl/spec'

/**
 * Exactness (law 2), checked from outside: every trained run of every sample is
 * the output of one engine call, id for id and log-probability for
 * log-probability, and no call is trained twice. A run may lack the last id,
 * where the template writes another stop token.
 *
 * Returns what is wrong, or null. An adapter that tokenizes text again fails
 * this as soon as one output was not split canonically.
 */
export function trainedPairsProblem(samples: readonly Sample[], calls: readonly AnsweredCall[]): string | null {
  const unused = new Set(calls)
  for (const [index, sample] of samples.entries()) {
    for (const run of trainedRuns(sample)) {
      const call = [...unused].find((candidate) => isOutputOf(run, candidate))
      if (call === undefined) {
        return `sample ${index}: ${run.ids.length} trained tokens from response position ${run.start} are no engine call's output`
      }
      unused.delete(call)
    }
  }
  return null
}

/** What an engine call was answered. */
interface AnsweredCall {
  readonly outputIds: TokenIds
  readonly outputLogprobs: Logprobs
}

interface TrainedRun {
  readonly start: number
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
}

function trainedRuns(sample: Sample): TrainedRun[] {
  const runs: TrainedRun[] = []
  let position = 0
  while (position < sample.lossMask.length) {
    const start = position
    while (sample.lossMask[position] === 1) position += 1
    if (position > start) {
      const offset = sample.promptLength
      runs.push({
        start,
        ids: [...sample.tokens.slice(offset + start, offset + position)],
        logprobs: [...sample.logprobs.slice(start, position)],
      })
    }
    position += 1
  }
  return runs
}

function isOutputOf(run: TrainedRun, call: AnsweredCall): boolean {
  const missing = call.outputIds.length - run.ids.length
  if (missing < 0 || missing > 1) return false
  return run.ids.every(
    (id, index) => id === call.outputIds[index] && run.logprobs[index] === call.outputLogprobs[index],
  )
}
