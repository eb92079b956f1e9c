import { addCounts, addLedgers, ledgerProblem } from '@agentrl/core'
import { diagnoseGroups, groupedPassRate } from '@agentrl/metrics'
import type { Ledger } from '@agentrl/spec'
import type { AttemptResult } from './attempt-result.ts'
import { type DriftReport, reportDrifts } from './report-drifts.ts'

/** Where the files of a run are. */
export interface RunFilePaths {
  readonly directory: string
  readonly samples: string
  readonly attempts: string
  readonly report: string
}

/** A run in numbers. Written as `report.json`. */
export interface RunReport {
  readonly version: 1
  readonly runId: string
  readonly agent: string
  readonly engine: { readonly name: string; readonly isStandIn: boolean }
  readonly attemptsPerTask: number
  readonly plannedAttempts: number
  readonly finishedAttempts: number
  readonly tasks: readonly TaskReport[]
  /** `pass@k` over graded attempts, by k. Empty when nothing was graded. */
  readonly passRates: Readonly<Record<string, number>>
  readonly samples: number
  /** Length and rollout of each sample, in the order of `attempts.jsonl`: what a micro-batch plan needs. */
  readonly sampleLengths: readonly { readonly rolloutId: string; readonly tokens: number }[]
  readonly ledger: Ledger
  /** What does not add up; null when reconciled. */
  readonly ledgerProblem: string | null
  readonly counts: Readonly<Record<string, number>>
  /** Text segments of prompts that were looked up: found encoded (hits), or encoded (misses). */
  readonly segmentCache: { readonly hits: number; readonly misses: number }
  /** Where prompts departed from what was sampled, by cause. */
  readonly drifts: readonly DriftReport[]
  /** Ids of groups whose advantages are all 0, with the reason. */
  readonly zeroGradientGroups: readonly { readonly instanceId: string; readonly outcome: string }[]
  readonly elapsedMs: number
  readonly files: RunFilePaths
}

export interface TaskReport {
  readonly instanceId: string
  /** One for each attempt that ended, in attempt order; null could not be graded. */
  readonly rewards: readonly (number | null)[]
  readonly turns: readonly number[]
  readonly abortReasons: readonly string[]
}

export interface ReportInput {
  readonly results: readonly AttemptResult[]
  readonly runId: string
  readonly agent: string
  readonly engine: RunReport['engine']
  readonly attemptsPerTask: number
  readonly plannedAttempts: number
  readonly segmentCache: RunReport['segmentCache']
  readonly elapsedMs: number
  readonly files: RunFilePaths
}

export function reportRun(input: ReportInput): RunReport {
  const results = [...input.results].sort(
    (left, right) => left.groupIndex - right.groupIndex || left.attemptIndex - right.attemptIndex,
  )
  const rows = {
    rewards: results.map((result) => result.reward),
    groupIds: results.map((result) => result.instanceId),
    rolloutIds: results.map((result) => result.rolloutId),
  }
  const groupSize = input.attemptsPerTask
  const ledger = addLedgers(results.map((result) => result.ledger))
  const counts = addCounts(results.map((result) => result.counts))
  const diagnosis = results.length === 0 ? null : diagnoseGroups({ ...rows, groupSize })
  return {
    version: 1,
    runId: input.runId,
    agent: input.agent,
    engine: input.engine,
    attemptsPerTask: groupSize,
    plannedAttempts: input.plannedAttempts,
    finishedAttempts: results.length,
    tasks: taskReports(results),
    passRates: results.length === 0 ? {} : groupedPassRate({ ...rows, groupSize }),
    samples: results.reduce((total, result) => total + result.samples.length, 0),
    sampleLengths: results.flatMap((result) =>
      result.samples.map((sample) => ({ rolloutId: result.rolloutId, tokens: sample.tokens.length })),
    ),
    ledger,
    ledgerProblem: ledgerProblem(ledger),
    counts,
    segmentCache: { hits: input.segmentCache.hits, misses: input.segmentCache.misses },
    drifts: reportDrifts(results, counts),
    zeroGradientGroups: (diagnosis?.outcomes ?? []).flatMap(({ groupId, outcome }) =>
      outcome === 'mixed' ? [] : [{ instanceId: String(groupId), outcome }],
    ),
    elapsedMs: input.elapsedMs,
    files: input.files,
  }
}

function taskReports(results: readonly AttemptResult[]): TaskReport[] {
  const byTask = new Map<string, AttemptResult[]>()
  for (const result of results) {
    const known = byTask.get(result.instanceId)
    if (known === undefined) byTask.set(result.instanceId, [result])
    else known.push(result)
  }
  return [...byTask].map(([instanceId, attempts]) => ({
    instanceId,
    rewards: attempts.map((attempt) => attempt.reward),
    turns: attempts.map((attempt) => attempt.turns),
    abortReasons: attempts.flatMap((attempt) => attempt.abortReason ?? []),
  }))
}
