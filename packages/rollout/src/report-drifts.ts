import { type Departure, type DriftCause, driftCauses } from '@agentrl/core'
import type { AttemptResult } from './attempt-result.ts'

/** How often the prompts of a run departed from what was sampled for one cause, and what can be done. */
export interface DriftReport {
  readonly cause: DriftCause
  readonly meaning: string
  readonly hint: string
  /** Requests that did not go on where the session's turns ended, or not with the sampled tokens. */
  readonly departures: number
  /** Differences that inheriting made harmless: no token was lost by them. */
  readonly absorbed: number
  /** The first departure of the run, by attempt order; null where all were absorbed. */
  readonly example: (Departure & { readonly rolloutId: string }) | null
}

/** The causes that were met, most departures first. */
export function reportDrifts(
  results: readonly AttemptResult[],
  counts: Readonly<Record<string, number>>,
): readonly DriftReport[] {
  const causes = Object.keys(driftCauses) as DriftCause[]
  return causes
    .map((cause) => ({
      cause,
      ...driftCauses[cause],
      departures: counts[`drift.${cause}`] ?? 0,
      absorbed: counts[`drift_absorbed.${cause}`] ?? 0,
      example: firstExample(results, cause),
    }))
    .filter(({ departures, absorbed }) => departures + absorbed > 0)
    .sort((left, right) => right.departures - left.departures || right.absorbed - left.absorbed)
}

function firstExample(results: readonly AttemptResult[], cause: DriftCause): DriftReport['example'] {
  for (const { rolloutId, drifts } of results) {
    const drift = drifts.find((candidate) => candidate.cause === cause)
    if (drift !== undefined) return { ...drift, rolloutId }
  }
  return null
}
