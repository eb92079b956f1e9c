import type { Logprobs, TokenIds } from './tokens.ts'

/** Why an engine stopped. */
export type FinishReason = 'stop' | 'length' | 'abort'

/** The distribution that a turn was sampled from, and the one that its log-probabilities speak of. */
export interface SamplingRecord {
  readonly temperature: number
  readonly topP: number
  readonly topK: number
  readonly minP: number
  /** `raw`: softmax of the logits. `temperature`: after the temperature. `processed`: after every filter. */
  readonly logprobMode: 'raw' | 'temperature' | 'processed'
}

/** Which weights sampled which part of an output. Spans are half-open token ranges of the output. */
export interface WeightSpan {
  readonly version: string
  readonly tokenStart: number
  readonly tokenEnd: number
}

/** Which experts routed each position of a turn: shape [positions, layers, topK], row-major. */
export interface RoutedExperts {
  /** Absolute position in the turn's sequence (prompt ++ output) of the first row. */
  readonly positionStart: number
  readonly layers: number
  readonly topK: number
  readonly indices: Int32Array
}

/** One engine call: what went in, what was sampled, and with which probability. */
export interface Turn {
  readonly promptIds: TokenIds
  readonly outputIds: TokenIds
  /** One for each output id. Null: the engine gave none, so the turn can't be trained, and says so. */
  readonly outputLogprobs: Logprobs | null
  readonly finishReason: FinishReason
  /** The reply broke its tool-call format. */
  readonly illFormed: boolean
  readonly sampling?: SamplingRecord
  readonly weightSpans?: readonly WeightSpan[]
  readonly routedExperts?: RoutedExperts
}
