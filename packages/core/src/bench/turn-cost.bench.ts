import type { EngineReply } from '@agentrl/spec'
import { openAiChat } from '../adapter/protocols/openai-chat/openai-chat.ts'
import { parseBody } from '../adapter/protocols/parse-body.ts'
import type { Session } from '../adapter/session.ts'
import type { BenchAdapter } from './bench-adapter.bench.ts'
import type { BenchConversation } from './conversation.bench.ts'
import { median } from './median.bench.ts'

/**
 * What a turn costs the adapter: CPU time of the whole process (the tokenizer's
 * thread and the garbage collector included) from the text of the request's
 * body to the bytes for the engine, and from its reply to the recorded turn and
 * the bytes for the client. Milliseconds, medians over rounds.
 */
export interface TurnCost {
  /** Holds the others. */
  readonly total: number
  readonly jsonParse: number
  /** Reading the parsed body as messages, and matching them with the session's tree. */
  readonly match: number
  readonly rest: number
}

export interface TurnCosts {
  readonly byTurn: readonly TurnCost[]
  /** Of the last turn. */
  readonly promptTokens: number
}

const warmUpRounds = 3

export async function measureTurnCosts(
  adapter: BenchAdapter,
  conversation: BenchConversation,
  rounds: number,
): Promise<TurnCosts> {
  const replies: EngineReply[] = []
  for (const output of conversation.outputs) replies.push(await adapter.replyOf(output))
  const plays: (readonly TurnCost[])[] = []
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const costs = await play(adapter, conversation, replies)
    if (round >= 0) plays.push(costs)
  }
  const byTurn = conversation.bodies.map((_, turn): TurnCost => {
    const of = (pick: (cost: TurnCost) => number): number => median(plays.map((costs) => pick(costs[turn] as TurnCost)))
    return {
      total: of((cost) => cost.total),
      jsonParse: of((cost) => cost.jsonParse),
      match: of((cost) => cost.match),
      rest: of((cost) => cost.rest),
    }
  })
  return { byTurn, promptTokens: adapter.promptTokens }
}

async function play(
  adapter: BenchAdapter,
  { bodies }: BenchConversation,
  replies: readonly EngineReply[],
): Promise<readonly TurnCost[]> {
  const session = adapter.openSession()
  const matching = timeMatching(session)
  const costs: TurnCost[] = []
  for (const [turn, text] of bodies.entries()) {
    matching.elapsed = 0
    const before = process.cpuUsage()
    const start = performance.now()
    const raw = parseBody(text)
    const jsonParse = performance.now() - start
    await adapter.turn(session, raw, replies[turn] as EngineReply)
    const { user, system } = process.cpuUsage(before)
    const readStart = performance.now()
    openAiChat.readRequest(raw)
    const match = matching.elapsed + performance.now() - readStart
    const total = (user + system) / 1000
    costs.push({ total, jsonParse, match, rest: total - jsonParse - match })
  }
  return costs
}

/** Adds up the time of the trajectory's calls, which are synchronous. */
function timeMatching({ trajectory }: Session): { elapsed: number } {
  const clock = { elapsed: 0 }
  const names = [
    'findInheritance',
    'inheritedRole',
    'inheritedReply',
    'explain',
    'findReplies',
    'recordTurn',
    'knownExpertRows',
  ] as const
  for (const name of names) {
    const call = trajectory[name].bind(trajectory) as (...values: unknown[]) => unknown
    const timed = (...values: unknown[]): unknown => {
      const start = performance.now()
      try {
        return call(...values)
      } finally {
        clock.elapsed += performance.now() - start
      }
    }
    Object.defineProperty(trajectory, name, { value: timed })
  }
  return clock
}
