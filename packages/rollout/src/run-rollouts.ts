import type { Tokenizer } from '@agentrl/core/render'
import type { PromptRow } from '@agentrl/harbor'
import { checkLifetimes } from '@agentrl/sandbox'
import type { Clock, Logger } from '@agentrl/spec'
import { groupId, rolloutId, silentLogger, systemClock, ValueError } from '@agentrl/spec'
import PQueue from 'p-queue'
import type { AttemptResult } from './attempt-result.ts'
import { type AttemptParts, type AttemptPlan, attemptLifetimes, runAttempt } from './run-attempt.ts'
import { openRunFiles, type RunFiles } from './run-files.ts'
import { type RunReport, reportRun } from './run-report.ts'

/**
 * A run: n attempts at each task, a bounded number at a time, each written to
 * the run directory as it ends. A failed attempt never stops its siblings; an
 * abort ends what is running and keeps what has finished.
 */
export interface RolloutOptions extends Omit<AttemptParts, 'clock' | 'logger'> {
  readonly rows: readonly PromptRow[]
  /** Attempts at each task; at least 1. */
  readonly attemptsPerTask: number
  /** Attempts at a time; at least 1. Default 4. */
  readonly concurrency?: number
  /** Shown in the report: the engine's name, and whether it is a stand-in. */
  readonly engine: { readonly name: string; readonly isStandIn: boolean }
  /** Decodes responses for people. */
  readonly tokenizer: Tokenizer
  /** Called as attempts end, in the order in which they do. */
  readonly onAttempt?: (result: AttemptResult, progress: { readonly done: number; readonly total: number }) => void
  readonly clock?: Clock
  readonly logger?: Logger
}

/**
 * Runs every attempt and returns the report, which is also in the run
 * directory. Rejects with the signal's reason when it aborts, after everything
 * running has ended and the files are closed. Throws `value_invalid`, and
 * `config_invalid` for a time budget that the sandboxes do not live long enough for.
 */
export async function runRollouts(options: RolloutOptions, signal?: AbortSignal): Promise<RunReport> {
  const { attemptsPerTask, concurrency = 4, clock = systemClock, logger = silentLogger } = options
  requireCount('attemptsPerTask', attemptsPerTask)
  requireCount('concurrency', concurrency)
  for (const row of options.rows) checkLifetimes(attemptLifetimes(row, options))
  signal?.throwIfAborted()
  const plans = planAttempts(options.rows, attemptsPerTask)
  const queue = new PQueue({ concurrency })
  const results: AttemptResult[] = []
  const startedAt = clock.now()
  await using files = await openRunFiles(options.runDirectory)
  const runOne = async (plan: AttemptPlan): Promise<void> => {
    signal?.throwIfAborted()
    const result = await runAttempt(plan, { ...options, clock, logger }, signal)
    await writeResult(files, result, { plan, tokenizer: options.tokenizer })
    results.push(result)
    options.onAttempt?.(result, { done: results.length, total: plans.length })
  }
  const ended = await Promise.allSettled(plans.map((plan) => queue.add(() => runOne(plan))))
  const report = reportRun({
    results,
    runId: options.runId,
    agent: options.harness.name,
    engine: options.engine,
    attemptsPerTask,
    plannedAttempts: plans.length,
    segmentCache: options.adapter.segmentCache,
    elapsedMs: clock.now() - startedAt,
    files: files.paths,
  })
  await files.writeReport(report)
  signal?.throwIfAborted()
  const failure = ended.find((outcome) => outcome.status === 'rejected')
  if (failure !== undefined) throw failure.reason
  return report
}

/** Attempts in the order in which they start: task by task, so that groups complete early. */
function planAttempts(rows: readonly PromptRow[], attemptsPerTask: number): AttemptPlan[] {
  return rows.flatMap((row, groupIndex) =>
    Array.from({ length: attemptsPerTask }, (_, attemptIndex) => ({
      row,
      groupIndex,
      attemptIndex,
      groupId: groupId(`g${groupIndex}`),
      rolloutId: rolloutId(`g${groupIndex}-a${attemptIndex}`),
    })),
  )
}

async function writeResult(
  files: RunFiles,
  result: AttemptResult,
  { plan, tokenizer }: { readonly plan: AttemptPlan; readonly tokenizer: Tokenizer },
): Promise<void> {
  const responses: string[] = []
  for (const sample of result.samples) {
    responses.push(await tokenizer.decode((sample.tokens as Int32Array).subarray(sample.promptLength)))
  }
  await files.writeAttempt(result, { row: plan.row, responses })
}

function requireCount(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 1) return
  throw new ValueError('value_invalid', `${name} is a whole number of at least 1; found ${value}`)
}
