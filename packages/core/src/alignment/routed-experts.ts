import type { Sample } from '@agentrl/spec'

/**
 * A trainer decides by the first sample of a batch whether routing is replayed:
 * a batch has it in every sample or in none. If one lacks it, or has another
 * shape, it is taken out of all. Linear in the samples.
 */
export function keepExpertsOfAllOrNone(samples: readonly Sample[]): Sample[] {
  const first = samples[0]?.routedExperts
  const isWhole = samples.every(
    ({ routedExperts }) =>
      routedExperts !== undefined && routedExperts.layers === first?.layers && routedExperts.topK === first.topK,
  )
  if (isWhole) return [...samples]
  return samples.map(({ routedExperts: _, ...sample }) => sample)
}
