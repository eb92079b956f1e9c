import type { Logprobs, TokenIds } from './tokens.ts'
import type { FinishReason, RoutedExperts, SamplingRecord, WeightSpan } from './turn.ts'

/**
 * The contract of an inference engine: token ids in, sampled ids and their
 * log-probabilities out. Nothing here speaks of text: what a client reads is
 * decoded from the ids, and what a trainer reads is the ids.
 */

/** The distribution to sample from. Every key is sent explicitly: no engine default decides. */
export interface SamplingParams {
  /** At least 0. 0 is greedy. */
  readonly temperature: number
  /** In (0, 1]. 1 is off. */
  readonly topP: number
  /** At least 1, or -1 for off. */
  readonly topK: number
  /** In [0, 1]. 0 is off. */
  readonly minP: number
  /** In [-2, 2]. 0 is off. */
  readonly frequencyPenalty: number
  /** In [-2, 2]. 0 is off. */
  readonly presencePenalty: number
  /** In (0, 2]. 1 is off. */
  readonly repetitionPenalty: number
  /** Undefined: the engine's own randomness. */
  readonly seed?: number
}

export interface EngineRequest {
  /** Names the call at the engine; used to abort it. */
  readonly requestId: string
  /** Turns with one key go to one engine of a pool, so that its prefix cache serves them. */
  readonly routingKey?: string
  readonly promptIds: TokenIds
  readonly sampling: SamplingParams
  /** At least 1. */
  readonly maxNewTokens: number
  /** Ids that end the output; the id itself is part of the output. */
  readonly stopTokenIds: readonly number[]
  /** Positions of the prompt whose expert routing is known already: an engine that returns routing may begin there. Default 0. */
  readonly knownExpertRows?: number
}

export interface EngineReply {
  readonly outputIds: TokenIds
  /** One for each output id. */
  readonly outputLogprobs: Logprobs
  readonly finishReason: FinishReason
  /** Prompt ids that the engine had in its cache, where it says so. */
  readonly cachedTokens?: number
  readonly weightSpans?: readonly WeightSpan[]
  readonly routedExperts?: RoutedExperts
}

export interface EngineOptions {
  /** Aborting rejects with the signal's reason and ends the call at the engine. */
  readonly signal?: AbortSignal
}

/** An inference engine. Throws `EngineError`; retries nothing by itself. */
export interface Engine {
  /** For messages and reports, for example `sglang http://127.0.0.1:30000`. */
  readonly name: string
  /** True for a stand-in that samples from no model. Shown wherever results are printed. */
  readonly isStandIn: boolean
  /** Which distribution the returned log-probabilities speak of. */
  readonly logprobMode: SamplingRecord['logprobMode']
  generate(request: EngineRequest, options?: EngineOptions): Promise<EngineReply>
}
