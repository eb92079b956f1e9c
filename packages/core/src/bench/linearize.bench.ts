import { Trajectory } from '../alignment/trajectory.ts'
import { median } from './median.bench.ts'

/** Linearizing one session of many turns, half of whose new tokens are sampled. */
export interface LinearizeCost {
  readonly turns: number
  /** Tokens of the one sample. */
  readonly tokens: number
  /** CPU milliseconds, median over rounds. */
  readonly cpuMs: number
}

/** A rollout linearizes many sessions: what is measured is compiled code. */
const warmUpRounds = 50

export interface LinearizeSize {
  readonly turns: number
  readonly newTokens: number
  readonly rounds: number
}

export function measureLinearize({ turns, newTokens, rounds }: LinearizeSize): LinearizeCost {
  const trajectory = makeTrajectory(turns, newTokens / 2)
  const times: number[] = []
  let tokens = 0
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const before = process.cpuUsage()
    const { samples, ledger } = trajectory.linearize({ reward: 1 })
    const { user, system } = process.cpuUsage(before)
    if (samples.length !== 1 || ledger.buckets.trained !== (turns * newTokens) / 2)
      throw new RangeError('not one sample')
    tokens = samples[0]?.tokens.length ?? 0
    if (round >= 0) times.push((user + system) / 1000)
  }
  return { turns, tokens, cpuMs: median(times) }
}

function makeTrajectory(turns: number, half: number): Trajectory {
  const trajectory = new Trajectory()
  const ids = new Int32Array(100 + turns * half * 2)
  for (let index = 0; index < 100; index += 1) ids[index] = index
  const messages: { role: 'user' | 'assistant' | 'tool'; content: string }[] = [{ role: 'user', content: 'go' }]
  let held = 100
  for (let turn = 0; turn < turns; turn += 1) {
    const outputIds = Int32Array.from({ length: half }, (_, index) => (turn * 31 + index) % 150_000)
    const reply = { role: 'assistant' as const, content: `reply ${turn}` }
    trajectory.recordTurn({
      turn: {
        promptIds: ids.slice(0, held),
        outputIds,
        outputLogprobs: new Float32Array(half).fill(-0.5),
        finishReason: 'stop',
        illFormed: false,
      },
      promptMessages: [...messages],
      responseMessage: reply,
    })
    ids.set(outputIds, held)
    for (let index = 0; index < half; index += 1) ids[held + half + index] = (turn * 17 + index) % 150_000
    held += half * 2
    messages.push(reply, { role: 'tool', content: `result ${turn}` })
  }
  return trajectory
}
