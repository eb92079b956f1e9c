import { ValueError } from '@agentrl/spec'
import { checkCount } from './weights.ts'

/**
 * What a sample costs, so that bins can be balanced by what matters: tokens for
 * a cap, FLOPs for the time of a step, memory for what fits. Costs add up over
 * the samples of a packed micro-batch, because packed sequences do not attend
 * to each other.
 *
 * With s tokens, L layers, hidden size h, a query heads and g key-value heads of
 * width d, feed-forward size f and vocabulary V, the forward pass costs
 *
 *     per layer   2·s·h·a·d + 4·s·h·g·d     queries, keys and values
 *               + 2·a·d·s²                  scores and their use, causal half of 4·a·d·s²
 *               + 2·s·h²                    output projection
 *               + 6·s·h·f                   gated feed-forward, three matrices
 *     head        2·s·h·V
 *
 * as slime counts them (`flops_utils`, 624b824a; its recorded numbers are in the
 * tests). A training step costs three times as much, which balances alike.
 *
 * Activations are after Korthikanti et al. 2022 (arXiv 2205.05198), table 2, in
 * bytes a tensor-parallel rank with sequence parallelism holds: 34·s·h / t for a
 * layer whose attention is recomputed (or fused), 2·s·h / t where whole layers
 * are recomputed; plus the logits in float32, 4·s·V / t.
 */

/** The cost of one sample of so many tokens; finite, at least 0. */
export type CostModel = (tokens: number) => number

/**
 * A sample costs its tokens.
 *
 * @example
 * tokenCost(3) // → 3
 */
export const tokenCost: CostModel = (tokens) => tokens

/** The shape of a decoder-only transformer. */
export interface ModelShape {
  readonly layers: number
  readonly hiddenSize: number
  readonly queryHeads: number
  /** Key-value heads. Default: as many as query heads. */
  readonly keyValueHeads?: number
  /** Width of a head. Default hiddenSize / queryHeads. */
  readonly headSize?: number
  /**
   * Width of the feed-forward layer. For a mixture of experts: what one token
   * uses, expert width × experts per token + shared width.
   */
  readonly feedForwardSize: number
  readonly vocabularySize: number
}

/**
 * Forward FLOPs of a sample, linear and quadratic part. Throws `value_invalid`
 * for a size that is not an integer of at least 1.
 *
 * @example
 * flopsCost({ layers: 1, hiddenSize: 2, queryHeads: 1, feedForwardSize: 4, vocabularySize: 10 })(3)
 * // → 396
 * // 72 for queries, keys and values, 36 for attention, 24 for the output, 144 for the feed-forward, 120 for the head
 */
export function flopsCost(model: ModelShape): CostModel {
  const { layers, hiddenSize, queryHeads, feedForwardSize, vocabularySize } = model
  const { keyValueHeads = queryHeads, headSize = hiddenSize / queryHeads } = model
  checkShape({ layers, hiddenSize, queryHeads, keyValueHeads, headSize, feedForwardSize, vocabularySize })
  const projections = 2 * hiddenSize * headSize * (queryHeads + 2 * keyValueHeads)
  const perToken = layers * (projections + 2 * hiddenSize ** 2 + 6 * hiddenSize * feedForwardSize)
  const linear = perToken + 2 * hiddenSize * vocabularySize
  const quadratic = layers * 2 * queryHeads * headSize
  return (tokens) => linear * tokens + quadratic * tokens ** 2
}

export interface MemoryShape extends Pick<ModelShape, 'layers' | 'hiddenSize' | 'vocabularySize'> {
  /** Tensor-parallel ranks that share the activations. Default 1. */
  readonly tpSize?: number
  /** What is computed again in the backward pass. Default `attention`. */
  readonly recompute?: 'attention' | 'layers'
}

/**
 * Bytes of activations that a sample holds on one rank in the backward pass.
 * Linear in tokens. Throws `value_invalid` as `flopsCost`.
 *
 * @example
 * memoryCost({ layers: 2, hiddenSize: 8, vocabularySize: 100, tpSize: 4 })(10) // → 2360
 * // 2 · 34 · 80 / 4 + 4 · 1000 / 4
 */
export function memoryCost(model: MemoryShape): CostModel {
  const { layers, hiddenSize, vocabularySize, tpSize = 1, recompute = 'attention' } = model
  checkShape({ layers, hiddenSize, vocabularySize, tpSize })
  const bytesPerHidden = recompute === 'layers' ? 2 : 34
  const perToken = (layers * bytesPerHidden * hiddenSize + 4 * vocabularySize) / tpSize
  return (tokens) => perToken * tokens
}

/**
 * The costs of all samples. Throws `value_invalid` where a model gives a cost
 * that is negative or not finite.
 *
 * @example
 * costsOf([3, 5], tokenCost) // → [3, 5]
 */
export function costsOf(lengths: readonly number[], model: CostModel): number[] {
  return lengths.map((tokens) => {
    const cost = model(tokens)
    if (Number.isFinite(cost) && cost >= 0) return cost
    throw new ValueError('value_invalid', `A cost is finite and at least 0; ${tokens} tokens cost ${cost}`, {
      details: { tokens, cost: String(cost) },
    })
  })
}

function checkShape(sizes: Readonly<Record<string, number>>): void {
  for (const [name, size] of Object.entries(sizes)) checkCount(name, size)
}
