import type { PlanFigures, PlanReport } from '@agentrl/microbatch'
import { formatTable, plain } from './table.ts'

/** Micro-batches shown one by one; the rest is in the JSON. */
const shownMicroBatches = 48

/** A plan as text for people. */
export function formatPlan(report: PlanReport): string {
  const { sampleCount, rolloutCount, stepCount, gpuCount, capTokens, totalTokens } = report
  return [
    `${sampleCount} samples of ${rolloutCount} rollouts, ${totalTokens} tokens, in ${stepCount} steps on ${gpuCount} GPUs; ${capTokens} tokens a micro-batch`,
    ...(report.microBatches.length === 0 ? [] : [`Micro-batches\n${microBatchTable(report)}`]),
    ...(report.warnings.length === 0
      ? []
      : [report.warnings.map(({ message }) => `note: ${plain(message)}`).join('\n')]),
    `This plan and alternatives\n${alternativesTable(report)}`,
    report.refusal === null ? 'Go ahead.' : `REFUSED: ${report.refusal.message} [${report.refusal.code}]`,
  ].join('\n\n')
}

function microBatchTable({ microBatches, capTokens }: PlanReport): string {
  const rows = microBatches
    .slice(0, shownMicroBatches)
    .map(({ step, rank, position, samples, tokens, isOverCap }) => [
      step,
      rank,
      position,
      samples.length,
      tokens,
      `${percent(tokens / capTokens)}${isOverCap ? ' over the cap' : ''}`,
    ])
  const left = microBatches.length - rows.length
  const table = formatTable(['step', 'rank', 'micro-batch', 'samples', 'tokens', 'of cap'], rows)
  return left === 0 ? table : `${table}\n… and ${left} more (--json shows all)`
}

function alternativesTable({ figures, alternatives }: PlanReport): string {
  return formatTable(
    ['', 'micro-batches', 'peak tokens', 'peak / cap', 'over cap', 'padding waste', 'ranks idle'],
    [{ change: 'this plan', figures }, ...alternatives].map((row) => [row.change, ...figureCells(row.figures)]),
  )
}

function figureCells(figures: PlanFigures | null): (string | number)[] {
  if (figures === null) return ['can not be scheduled']
  const { microBatchCount, peakTokens, peakRatio, overCapRatio, paddingWaste, idleRatio } = figures
  return [
    String(microBatchCount),
    String(peakTokens),
    peakRatio.toFixed(2),
    percent(overCapRatio),
    percent(paddingWaste),
    percent(idleRatio),
  ]
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
