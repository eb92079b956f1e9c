import { TrajectoryError, type Turn } from '@agentrl/spec'

/** Engines that compute in 16 bits report values a little above 0. */
const roundingSlack = 1e-3

/** Refuses a turn that breaks an invariant of its type. Throws `trajectory_invalid_turn`. Linear in the output. */
export function checkTurn(turn: Turn): void {
  if (turn.promptIds.length === 0) {
    throw new TrajectoryError('trajectory_invalid_turn', 'A turn needs a prompt of at least one id; found none')
  }
  checkExperts(turn)
  const { outputLogprobs } = turn
  if (outputLogprobs === null) return
  if (outputLogprobs.length !== turn.outputIds.length) {
    throw new TrajectoryError(
      'trajectory_invalid_turn',
      `A turn needs one log-probability for each output id: expected ${turn.outputIds.length}, found ${outputLogprobs.length}`,
    )
  }
  for (let index = 0; index < outputLogprobs.length; index += 1) {
    const logprob = outputLogprobs[index] as number
    if (!Number.isFinite(logprob) || logprob > roundingSlack) {
      throw new TrajectoryError(
        'trajectory_invalid_turn',
        `A log-probability is finite and at most 0: found ${logprob} at output position ${index}`,
      )
    }
  }
}

function checkExperts({ routedExperts, promptIds, outputIds }: Turn): void {
  if (routedExperts === undefined) return
  const { positionStart, layers, topK, indices } = routedExperts
  const rows = indices.length / (layers * topK)
  const isPlaced = Number.isInteger(positionStart) && positionStart >= 0 && Number.isInteger(rows) && rows >= 0
  if (isPlaced && positionStart + rows <= promptIds.length + outputIds.length) return
  throw new TrajectoryError(
    'trajectory_invalid_turn',
    `Routed experts are [positions, layers, topK] within prompt and output: found ${indices.length} indices for ${layers} layers and top ${topK} from position ${positionStart} of ${promptIds.length + outputIds.length}`,
  )
}
