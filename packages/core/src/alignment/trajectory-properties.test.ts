import type { Bucket, Message, RoutedExperts, Sample, Turn } from '@agentrl/spec'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BranchPolicies, BranchPolicy } from './branch-policy.ts'
import { addLedgers, ledgerProblem, moveTrained } from './ledger.ts'
import type { BranchRole, UntrainedReason } from './message-tree.ts'
import { Trajectory } from './trajectory.ts'

/**
 * Random sessions: trees of turns with drifts, cuts, resends, roles, several
 * heads, replies that are lost later, log-probabilities and expert rows that
 * are missing. Each sampled id is drawn once in a session, and the routing of a
 * position is a hash of the ids up to it, so that whatever a sample holds can
 * be checked against what the engine returned, without looking at how it came
 * there.
 */
interface Step {
  readonly from: number
  readonly action: 'continue' | 'resend' | 'restart'
  readonly lostTokens: number
  readonly outputLength: number
  readonly hasLogprobs: boolean
  readonly finishReason: Turn['finishReason']
  readonly role: BranchRole
  readonly untrained: UntrainedReason | null
  readonly isLostLater: boolean
  readonly isRewritten: boolean
  readonly hasExperts: boolean
}

const rarely = <Value>(value: Value, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other })

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  from: fc.nat(),
  action: rarely<Step['action']>('continue', fc.constantFrom('resend', 'restart')),
  lostTokens: rarely(0, fc.nat(6)),
  outputLength: fc.nat(6),
  hasLogprobs: rarely(true, fc.constant(false)),
  finishReason: rarely<Turn['finishReason']>('stop', fc.constantFrom('length', 'abort')),
  role: rarely<BranchRole>('main', fc.constantFrom('sub_agent', 'compaction', 'auxiliary')),
  untrained: rarely<UntrainedReason | null>(null, fc.constantFrom('disconnected', 'ill_formed_policy')),
  isLostLater: rarely(false, fc.constant(true)),
  isRewritten: rarely(false, fc.constant(true)),
  hasExperts: fc.boolean(),
})

const policyArbitrary = rarely<BranchPolicy>('train', fc.constantFrom('context', 'drop'))
const scenarioArbitrary = fc.record({
  steps: fc.array(stepArbitrary, { minLength: 1, maxLength: 14 }),
  policies: fc.record({
    main: policyArbitrary,
    sub_agent: policyArbitrary,
    compaction: policyArbitrary,
    auxiliary: policyArbitrary,
  }),
  maxSampleTokens: fc.constantFrom(0, 9, 20),
  forkThresholdTokens: fc.constantFrom(0, 3, 1024),
  /** Whether every turn has rows, so that they can be stitched at all. */
  isRouted: fc.boolean(),
  discarded: fc.nat(5),
  lostCalls: fc.nat(3),
})
type Scenario = typeof scenarioArbitrary extends fc.Arbitrary<infer Value> ? Value : never

interface Point {
  readonly head: string
  readonly messages: readonly Message[]
  readonly ids: readonly number[]
  /** The same, without what only the next turn of this conversation adds. */
  readonly request: { readonly messages: readonly Message[]; readonly promptIds: readonly number[] } | null
}

const layers = 2
const topK = 2

function hashPrefix(ids: ArrayLike<number>, end: number): number {
  let hash = 17
  for (let index = 0; index < end; index += 1) hash = (Math.imul(hash, 31) + (ids[index] as number)) | 0
  return hash
}

function expertsOf(ids: readonly number[], positionStart: number): RoutedExperts {
  const rows = ids.length - 1 - positionStart
  const indices = Array.from({ length: Math.max(0, rows) }, (_, row) => {
    const hash = hashPrefix(ids, positionStart + row + 1)
    return Array.from({ length: layers * topK }, (__, place) => (hash >>> place) & 127)
  })
  return { positionStart, layers, topK, indices: Int32Array.from(indices.flat()) }
}

function play(scenario: Scenario, alignment: 'inherit' | 'rerender') {
  const { steps, forkThresholdTokens } = scenario
  const trajectory = new Trajectory({ alignment, forkThresholdTokens })
  const start: Point = { head: 'h0', messages: [{ role: 'user', content: 'start' }], ids: [1, 2], request: null }
  const points: Point[] = [start]
  const turns: { turn: Turn; ids: readonly number[]; untrained: UntrainedReason | null; role: BranchRole }[] = []
  let nextId = 10
  for (const [index, step] of steps.entries()) {
    const from = points[step.from % points.length] as Point
    const { head, messages, promptIds } = nextRequest(step, from, () => nextId++, index)
    const outputIds = Array.from({ length: step.outputLength }, () => nextId++)
    const ids = [...promptIds, ...outputIds]
    const turn: Turn = {
      promptIds: Int32Array.from(promptIds),
      outputIds: Int32Array.from(outputIds),
      outputLogprobs: step.hasLogprobs ? Float32Array.from(outputIds, (id) => -1 / id) : null,
      finishReason: step.finishReason,
      illFormed: false,
      ...(scenario.isRouted || step.hasExperts
        ? {
            routedExperts: expertsOf(
              ids,
              step.hasExperts
                ? 0
                : trajectory.knownExpertRows({ promptMessages: messages, head, promptIds: Int32Array.from(promptIds) }),
            ),
          }
        : {}),
    }
    const handle = trajectory.recordTurn({
      turn,
      promptMessages: messages,
      responseMessage: { role: 'assistant', content: `a${index}` },
      head,
      role: step.role,
      untrained: step.untrained,
    })
    if (step.isLostLater) handle.untrained ??= 'disconnected'
    turns.push({ turn, ids, untrained: handle.untrained, role: step.role })
    const echo: Message = { role: 'assistant', content: step.isRewritten ? `a${index} rewritten` : `a${index}` }
    points.push({ head, messages: [...messages, echo], ids, request: { messages, promptIds } })
  }
  trajectory.recordDiscarded('engine_aborted', scenario.discarded)
  for (let call = 0; call < scenario.lostCalls; call += 1) trajectory.recordLostCall()
  return { trajectory, turns }
}

function nextRequest(step: Step, from: Point, newId: () => number, index: number) {
  if (step.action === 'resend' && from.request !== null) return { head: from.head, ...from.request }
  const isRestart = step.action === 'restart'
  const base = isRestart ? { head: `h${index % 3}`, messages: [], ids: [1, 2] } : from
  const kept = base.ids.slice(0, Math.max(1, base.ids.length - step.lostTokens))
  const user: Message = { role: 'user', content: `u${index}` }
  return { head: base.head, messages: [...base.messages, user], promptIds: [...kept, newId()] }
}

function trainedTokens(sample: Sample): { readonly id: number; readonly logprob: number; readonly position: number }[] {
  return [...sample.lossMask].flatMap((flag, index) => {
    const position = sample.promptLength + index
    if (flag === 0) return []
    return [{ id: sample.tokens[position] as number, logprob: sample.logprobs[index] as number, position }]
  })
}

describe.each(['inherit', 'rerender'] as const)('a random session, %s', (alignment) => {
  const holds = (check: (scenario: Scenario) => void) => fc.assert(fc.property(scenarioArbitrary, check))
  const linearized = (scenario: Scenario) => {
    const { trajectory, turns } = play(scenario, alignment)
    const { maxSampleTokens, policies } = scenario
    const { samples, ledger } = trajectory.linearize({ reward: 1, maxSampleTokens, branchPolicies: policies })
    return { trajectory, turns, samples, ledger }
  }

  test('reconciles: the buckets hold every id that the engine returned', { timeout: 600_000 }, () => {
    holds((scenario) => {
      const { turns, ledger, samples } = linearized(scenario)
      expect(ledgerProblem(ledger)).toBeNull()
      const sampled = turns.reduce((total, { turn }) => total + turn.outputIds.length, scenario.discarded)
      expect(ledger.sampledTokens).toBe(sampled)
      expect(ledger.lostCalls).toBe(scenario.lostCalls)
      expect(ledger.buckets.trained).toBe(samples.flatMap(trainedTokens).length)
      expect(ledgerProblem(moveTrained(addLedgers([ledger, ledger]), 'group_dropped'))).toBeNull()
    })
  })

  test('trains no token twice, and each as the engine returned it', { timeout: 600_000 }, () => {
    holds((scenario) => {
      const { turns, samples } = linearized(scenario)
      const trained = samples.flatMap(trainedTokens)
      expect(new Set(trained.map(({ id }) => id)).size).toBe(trained.length)
      const returned = new Map(
        turns.flatMap(({ turn }) =>
          [...turn.outputIds].map((id, index) => [id, turn.outputLogprobs?.[index]] as const),
        ),
      )
      expect(trained.filter(({ id, logprob }) => returned.get(id) !== logprob)).toEqual([])
    })
  })

  test('gives samples whose tokens are what a turn saw and said, and masks everything else', {
    timeout: 600_000,
  }, () => {
    holds((scenario) => {
      const { turns, samples } = linearized(scenario)
      const sequences = turns.map(({ ids }) => ids.join(' '))
      for (const sample of samples) {
        const text = [...sample.tokens].join(' ')
        expect(sequences.some((sequence) => sequence === text || sequence.startsWith(`${text} `))).toBe(true)
        expect(sample.tokens.length - sample.promptLength).toBe(sample.responseLength)
        expect(sample.lossMask.length).toBe(Math.max(0, sample.responseLength))
        expect(alignment === 'inherit' && sample.isRemoved).toBe(false)
        const masked = [...sample.logprobs].filter((_, index) => sample.lossMask[index] === 0)
        expect(masked.filter((logprob) => logprob !== 0)).toEqual([])
        // Within a turn, what trains is an unbroken run from its first id on.
        const positions = new Map(trainedTokens(sample).map(({ id, position }) => [id, position]))
        for (const { turn } of turns) {
          const kept = [...turn.outputIds].map((id) => positions.get(id))
          const first = kept[0]
          const length = kept.filter((position) => position !== undefined).length
          const expected = Array.from({ length }, (_, index) => (first ?? 0) + index)
          expect(kept.slice(0, length)).toEqual(expected)
        }
      }
    })
  })

  test('names why a turn does not train', { timeout: 600_000 }, () => {
    holds((scenario) => {
      const { turns, ledger } = linearized(scenario)
      const tokensOf = (reason: (turn: (typeof turns)[number]) => boolean) =>
        turns.filter(reason).reduce((total, { turn }) => total + turn.outputIds.length, 0)
      const { policies } = scenario
      const merged = ledger.buckets.rewrite_merged
      for (const reason of ['disconnected', 'ill_formed_policy'] as const) {
        const expected = tokensOf(({ untrained }) => untrained === reason)
        expect(ledger.buckets[reason]).toBeLessThanOrEqual(expected)
        expect(ledger.buckets[reason]).toBeGreaterThanOrEqual(expected - merged)
      }
      const excluded = tokensOf(({ untrained, role }) => untrained === null && policies[role] !== 'train')
      expect(ledger.buckets.branch_policy).toBeGreaterThanOrEqual(excluded - merged)
      const foreign = (alignment === 'inherit' ? ['realigned', 'rewrite_merged'] : ['stop_token_mismatch']) as Bucket[]
      expect(foreign.map((bucket) => ledger.buckets[bucket])).toEqual(foreign.map(() => 0))
    })
  })

  test('stitches the routing of every position but the last, or of no sample', { timeout: 600_000 }, () => {
    holds((scenario) => {
      const { samples } = linearized(scenario)
      const routed = samples.filter(({ routedExperts }) => routedExperts !== undefined)
      expect(routed).toHaveLength(scenario.isRouted ? samples.length : routed.length === 0 ? 0 : samples.length)
      for (const { tokens, routedExperts } of routed) {
        const expected = expertsOf([...tokens], 0)
        expect(routedExperts).toEqual(expected)
        expect(routedExperts?.indices).toHaveLength((tokens.length - 1) * layers * topK)
      }
    })
  })

  test('gives the same samples when it is asked again', { timeout: 600_000 }, () => {
    holds((scenario) => {
      const { trajectory, samples } = linearized(scenario)
      const { maxSampleTokens, policies } = scenario
      const again = trajectory.linearize({ reward: 1, maxSampleTokens, branchPolicies: policies as BranchPolicies })
      expect(again.samples).toEqual(samples)
    })
  })
})
