import { planSchedule } from '@agentrl/microbatch'
import type { RunReport } from '@agentrl/rollout'
import { buckets, isAgentRlError } from '@agentrl/spec'
import { formatTable, plain } from './table.ts'

export interface PrintOptions {
  /** Data-parallel ranks of the micro-batch plan. */
  readonly dataParallel: number
  readonly maxTokensPerGpu: number
}

/** A run as text for people. */
export function formatReport(report: RunReport, options: PrintOptions): string {
  const standIn = report.engine.isStandIn ? '  ⚠ a scripted stand-in: no model sampled any of this' : ''
  return [
    `Run ${report.runId}: ${report.agent} on ${plain(report.engine.name)}${standIn}`,
    section('Tasks', taskTable(report)),
    section('Solved within k attempts', passLine(report)),
    section('Token ledger', ledgerText(report)),
    section('Where prompts departed from what was sampled', driftText(report)),
    section('What was counted', countsTable(report)),
    section('Groups without a gradient', zeroGradientText(report)),
    section(`Micro-batches for dp = ${options.dataParallel}`, planText(report, options)),
    section('Files', filesText(report)),
  ].join('\n\n')
}

function section(title: string, body: string): string {
  return `${title}\n${body}`
}

function taskTable({ tasks }: RunReport): string {
  const rows = tasks.map((task) => {
    const solved = task.rewards.filter((reward) => reward === 1).length
    const marks = task.rewards.map((reward) =>
      reward === null ? '–' : reward === 1 ? '✓' : reward === 0 ? '✗' : String(reward),
    )
    return [
      task.instanceId,
      marks.join(' '),
      `${solved}/${task.rewards.length}`,
      task.turns.join(' '),
      [...new Set(task.abortReasons)].join(', '),
    ]
  })
  return formatTable(['task', 'attempts', 'solved', 'turns', 'aborted because'], rows)
}

function passLine({ passRates }: RunReport): string {
  const entries = Object.entries(passRates)
  return entries.length === 0
    ? 'nothing was graded'
    : entries.map(([name, rate]) => `${name} ${rate.toFixed(3)}`).join('   ')
}

function ledgerText({ ledger, samples, ledgerProblem }: RunReport): string {
  const filled = buckets.filter((bucket) => ledger.buckets[bucket] > 0)
  const share = (tokens: number): string => `${((100 * tokens) / Math.max(1, ledger.sampledTokens)).toFixed(1)} %`
  const rows = filled.map((bucket) => [bucket, ledger.buckets[bucket], share(ledger.buckets[bucket])])
  const verdict = ledgerProblem === null ? 'reconciled ✓' : `DOES NOT ADD UP: ${ledgerProblem}`
  return [
    formatTable(['bucket', 'tokens', 'share'], [...rows, ['sampled', ledger.sampledTokens, verdict]]),
    `${samples} samples; ${ledger.contextRepeatPositions} positions repeat as context; ${ledger.lostCalls} calls without a reply`,
  ].join('\n')
}

function driftText({ drifts }: RunReport): string {
  if (drifts.length === 0) return 'nowhere: every prompt went on with the sampled tokens'
  const rows = drifts.map((drift) => [drift.cause, drift.departures, drift.absorbed, drift.meaning])
  const hints = drifts.flatMap(({ cause, hint, example }) =>
    example === null
      ? []
      : [
          `${cause}: ${hint}`,
          `  first in ${example.rolloutId}, ${example.where}: "${plain(example.held)}" became "${plain(example.found)}"`,
        ],
  )
  return [formatTable(['cause', 'departures', 'absorbed', 'meaning'], rows), ...hints].join('\n')
}

/** Drifts have a section of their own. */
function countsTable({ counts, segmentCache: { hits, misses } }: RunReport): string {
  const entries = Object.entries(counts).filter(([code]) => !/^drift(_absorbed)?\./.test(code))
  const table =
    entries.length === 0 ? 'nothing: no repair, retry or ignored setting' : formatTable(['code', 'count'], entries)
  return `${table}\n${hits + misses} segments of prompts: ${misses} encoded, ${hits} found in the cache`
}

function zeroGradientText({ zeroGradientGroups, tasks }: RunReport): string {
  if (zeroGradientGroups.length === 0) return `none of ${tasks.length}`
  return zeroGradientGroups.map(({ instanceId, outcome }) => `${plain(instanceId)}: ${outcome}`).join('\n')
}

function planText({ sampleLengths }: RunReport, options: PrintOptions): string {
  if (sampleLengths.length === 0) return 'no samples to plan'
  try {
    const lengths = sampleLengths.map(({ tokens }) => tokens)
    const schedule = planSchedule({
      lengths,
      rolloutIds: sampleLengths.map(({ rolloutId }) => rolloutId),
      dpSize: options.dataParallel,
      maxTokensPerGpu: options.maxTokensPerGpu,
      globalBatchSize: new Set(sampleLengths.map(({ rolloutId }) => rolloutId)).size,
    })
    const rows = schedule.partitions.map((partition, rank) => {
      const bins = (schedule.microBatchIndices[rank] ?? []).map((bin) =>
        bin.reduce((total, position) => total + (lengths[partition[position] ?? -1] ?? 0), 0),
      )
      return [`rank ${rank}`, partition.length, bins.join(' ')]
    })
    const notes = schedule.warnings.map((warning) => `note: ${warning.message}`)
    return [formatTable(['', 'samples', 'tokens of each micro-batch'], rows), ...notes].join('\n')
  } catch (error) {
    if (isAgentRlError(error)) return `no plan: ${error.message}`
    throw error
  }
}

function filesText({ files }: RunReport): string {
  return [files.samples, files.attempts, files.report].join('\n')
}
