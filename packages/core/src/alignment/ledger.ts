import { type Bucket, buckets, type Ledger, TrajectoryError } from '@agentrl/spec'

/** A ledger with nothing in it. */
export function emptyLedger(): Ledger {
  return {
    sampledTokens: 0,
    buckets: Object.fromEntries(buckets.map((bucket) => [bucket, 0])) as Record<Bucket, number>,
    contextRepeatPositions: 0,
    lostCalls: 0,
  }
}

/** The sum of ledgers: of the sessions of an attempt, the attempts of a group, the groups of a batch. */
export function addLedgers(ledgers: Iterable<Ledger>): Ledger {
  const total = { ...emptyLedger() }
  const sums: Record<Bucket, number> = { ...total.buckets }
  for (const ledger of ledgers) {
    total.sampledTokens += ledger.sampledTokens
    total.contextRepeatPositions += ledger.contextRepeatPositions
    total.lostCalls += ledger.lostCalls
    for (const bucket of buckets) sums[bucket] += ledger.buckets[bucket]
  }
  return { ...total, buckets: sums }
}

/** A ledger in which every trained token went to `bucket` instead, because its whole attempt or group is left out. */
export function moveTrained(ledger: Ledger, bucket: Exclude<Bucket, 'trained'>): Ledger {
  const moved = ledger.buckets.trained
  return { ...ledger, buckets: { ...ledger.buckets, trained: 0, [bucket]: ledger.buckets[bucket] + moved } }
}

/** What is wrong with a ledger, in words; null if its buckets partition the sampled tokens. */
export function ledgerProblem(ledger: Ledger): string | null {
  const negative = buckets.find((bucket) => !(ledger.buckets[bucket] >= 0))
  if (negative !== undefined) return `bucket ${negative} holds ${ledger.buckets[negative]} tokens`
  const sum = buckets.reduce((total, bucket) => total + ledger.buckets[bucket], 0)
  if (sum !== ledger.sampledTokens) return `${ledger.sampledTokens} tokens were sampled, but the buckets hold ${sum}`
  return null
}

/** Returns the ledger if its buckets partition the sampled tokens. Throws `trajectory_not_reconciled`. */
export function reconcile(ledger: Ledger): Ledger {
  const problem = ledgerProblem(ledger)
  if (problem === null) return ledger
  throw new TrajectoryError('trajectory_not_reconciled', `The ledger does not add up: ${problem}`, {
    details: { ledger },
  })
}
