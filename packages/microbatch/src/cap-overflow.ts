import { loadOf, peakOf } from './weights.ts'

/**
 * Micro-batches over the token cap, and the settings that would make them fit.
 *
 * Two things put a micro-batch over the cap. A sample longer than the cap has
 * to be somewhere; only a higher cap or a shorter sample helps. And where the
 * number of micro-batches had to go down, several samples share a bin that they
 * don't fit into; then samples to fill up the count help as well, or an
 * alignment that the count can meet.
 */

/** A setting and the value at which the overflow is gone. */
export interface Relief {
  readonly setting: 'maxTokensPerGpu' | 'cpSize' | 'maxSampleTokens' | 'paddingSamples' | 'dpSize'
  readonly value: number
  /** What the change means, for people. */
  readonly message: string
}

export interface CapOverflow {
  readonly capTokens: number
  readonly peakTokens: number
  /** Micro-batches over the cap. */
  readonly overCapCount: number
  /** Share of the micro-batches that are over the cap. */
  readonly overCapRatio: number
  /** Tokens above the cap, summed over micro-batches. */
  readonly excessTokens: number
  /** Samples that are longer than the cap by themselves. */
  readonly longSamples: number
  /** Each alone removes the overflow. Empty when there is none. */
  readonly reliefs: readonly Relief[]
}

export interface CapOverflowOptions {
  readonly bins: readonly (readonly number[])[]
  readonly lengths: readonly number[]
  readonly maxTokensPerGpu: number
  readonly cpSize: number
  readonly dpSize: number
  /** The micro-batches of a step are a multiple of dpSize × this. */
  readonly groupSize: number
  /** The count went down because samples could not be split further. */
  readonly isRepacked: boolean
}

/**
 * How far bins exceed the cap of `maxTokensPerGpu` × `cpSize`, and what would
 * help.
 *
 * @example
 * capOverflow({
 *   bins: [[0, 1], [2]],
 *   lengths: [60, 50, 90],
 *   maxTokensPerGpu: 100,
 *   cpSize: 1,
 *   dpSize: 2,
 *   groupSize: 1,
 *   isRepacked: true,
 * }).reliefs.map(({ setting, value }) => `${setting} ${value}`)
 * // → ['maxTokensPerGpu 110', 'cpSize 2', 'paddingSamples 1', 'dpSize 1']
 */
export function capOverflow(options: CapOverflowOptions): CapOverflow {
  const { bins, lengths, maxTokensPerGpu, cpSize } = options
  const capTokens = maxTokensPerGpu * cpSize
  const loads = bins.map((bin) => loadOf(bin, lengths))
  const over = loads.filter((load) => load > capTokens)
  const peakTokens = peakOf(bins, lengths)
  return {
    capTokens,
    peakTokens,
    overCapCount: over.length,
    overCapRatio: loads.length === 0 ? 0 : over.length / loads.length,
    excessTokens: over.reduce((sum, load) => sum + load - capTokens, 0),
    longSamples: bins.flat().filter((sample) => (lengths[sample] as number) > capTokens).length,
    reliefs: over.length === 0 ? [] : reliefsOf(options, peakTokens),
  }
}

function reliefsOf(options: CapOverflowOptions, peakTokens: number): Relief[] {
  const { bins, lengths, maxTokensPerGpu, cpSize, dpSize, groupSize, isRepacked } = options
  const sampleCount = bins.reduce((count, bin) => count + bin.length, 0)
  const longest = bins.flat().reduce((most, sample) => Math.max(most, lengths[sample] as number), 0)
  const capTokens = maxTokensPerGpu * cpSize
  const perGpu = Math.ceil(peakTokens / cpSize)
  const reliefs: Relief[] = [
    {
      setting: 'maxTokensPerGpu',
      value: perGpu,
      message: `raise maxTokensPerGpu from ${maxTokensPerGpu} to ${perGpu}, if memory allows`,
    },
  ]
  let widerCp = cpSize
  while (widerCp * maxTokensPerGpu < peakTokens) widerCp *= 2
  reliefs.push({ setting: 'cpSize', value: widerCp, message: `raise cpSize from ${cpSize} to ${widerCp}` })
  if (!isRepacked) {
    reliefs.push({
      setting: 'maxSampleTokens',
      value: capTokens,
      message: `keep samples to ${capTokens} tokens; the longest has ${longest}`,
    })
    return reliefs
  }
  if (longest > capTokens) return reliefs
  const alignTo = dpSize * groupSize
  const padding = Math.ceil(sampleCount / alignTo) * alignTo - sampleCount
  reliefs.push({
    setting: 'paddingSamples',
    value: padding,
    message: `add ${padding} removed samples that share a rollout id with others, so that ${sampleCount + padding} is a multiple of ${alignTo}`,
  })
  const narrowerDp = divisorsBelow(dpSize).find((size) => sampleCount % (size * groupSize) === 0)
  if (narrowerDp !== undefined) {
    reliefs.push({
      setting: 'dpSize',
      value: narrowerDp,
      message: `lower dpSize from ${dpSize} to ${narrowerDp}: ${sampleCount} samples are a multiple of ${narrowerDp * groupSize}`,
    })
  }
  return reliefs
}

/** Divisors of a number that are smaller than it, largest first. */
function divisorsBelow(number: number): number[] {
  return Array.from({ length: number - 1 }, (_, index) => number - 1 - index).filter((size) => number % size === 0)
}
