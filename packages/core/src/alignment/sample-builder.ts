import {
  type GroupId,
  groupId,
  type RolloutId,
  rolloutId,
  type Sample,
  type SampleId,
  type SampleMetadata,
  type SampleStatus,
  sampleId,
  type Turn,
} from '@agentrl/spec'
import { type AlignmentMode, classifyDrift, type Drift } from './classify-drift.ts'
import { TokenBuffer } from './token-buffer.ts'
import { checkTurn } from './turn-check.ts'

/**
 * Packs the turns of one conversation into the tokens of one sample.
 *
 *   prompt 1 │ response 1 │ new part of prompt 2 │ response 2 │ …
 *   ─ first ─┼────────────────── response region ───────────────
 *     prompt │ mask 1     │ mask 0               │ mask 1
 *
 * Ids and log-probabilities are the engine's own. What a builder can't absorb
 * it refuses (`fork`), and the caller opens another builder for that turn.
 */

export interface SampleBuilderOptions {
  /** `rerender` (default) absorbs short re-tokenizations; `inherit` only an unwritten stop id. */
  readonly alignment?: AlignmentMode
  /** Rerender: outputs of at least this many ids open a new sample on drift. Default 1024. */
  readonly forkThresholdTokens?: number
}

/** What a sample is filled up with when it is taken out of a builder. */
export interface SampleBase {
  readonly reward: number | null
  /** Default `group`. */
  readonly groupId?: GroupId
  /** Default `rollout`. */
  readonly rolloutId?: RolloutId
  /** Default the rollout id. */
  readonly sampleId?: SampleId
  /** Tokens after which a sample is cut. Default, and 0: no limit. */
  readonly maxSampleTokens?: number
  /** Added to, and winning over, what the builder knows of itself. */
  readonly metadata?: Readonly<Record<string, SampleMetadata[string]>>
}

/** Where the sampled ids of one turn stand in a builder. */
export interface ResponseSpan {
  readonly turn: Turn
  readonly tokenStart: number
  /** Ids of the turn that the builder still holds; the rest was dropped by a realignment. */
  readonly tokenEnd: number
  readonly isTrained: boolean
}

export const defaultForkThresholdTokens = 1024

export class SampleBuilder {
  readonly #alignment: AlignmentMode
  readonly #forkThresholdTokens: number
  readonly #buffer = new TokenBuffer()
  readonly #spans: ResponseSpan[] = []
  #promptLength = 0

  constructor(options: SampleBuilderOptions = {}) {
    this.#alignment = options.alignment ?? 'rerender'
    this.#forkThresholdTokens = options.forkThresholdTokens ?? defaultForkThresholdTokens
  }

  /** How `append` would take this turn. Changes nothing. Linear in the prompt. */
  classify(turn: Turn): Drift {
    if (this.#spans.length === 0) return { kind: 'clean', commonTokens: 0, driftTokens: 0 }
    const context = {
      held: this.#buffer.ids,
      lastResponseStart: this.#spans.at(-1)?.tokenStart ?? null,
      alignment: this.#alignment,
      forkThresholdTokens: this.#forkThresholdTokens,
    }
    return classifyDrift(context, turn.promptIds, turn.outputIds.length)
  }

  /**
   * Takes a turn in, unless it would fork: then nothing changes, and the caller
   * opens another builder. `trained: false` keeps its ids as context (mask 0).
   * A turn without log-probabilities is never trained. Throws
   * `trajectory_invalid_turn`. Linear in the prompt.
   */
  append(turn: Turn, options: { readonly trained?: boolean } = {}): Drift {
    checkTurn(turn)
    const drift = this.classify(turn)
    if (drift.kind === 'fork') return drift
    if (drift.kind === 'realign') this.#realign(drift)
    const isFirstTurn = this.#spans.length === 0
    this.#buffer.appendContext((turn.promptIds as Int32Array).subarray(this.#buffer.length))
    if (isFirstTurn) this.#promptLength = this.#buffer.length
    const tokenStart = this.#buffer.length
    const isTrained = (options.trained ?? true) && turn.outputLogprobs !== null
    if (isTrained) this.#buffer.appendTrained(turn.outputIds as Int32Array, turn.outputLogprobs as Float32Array)
    else this.#buffer.appendContext(turn.outputIds as Int32Array)
    this.#spans.push({ turn, tokenStart, tokenEnd: this.#buffer.length, isTrained })
    return drift
  }

  /** The responses held, in order, after all realignments so far. */
  get responses(): readonly ResponseSpan[] {
    return this.#spans
  }

  /** Tokens of the first prompt. */
  get promptLength(): number {
    return this.#promptLength
  }

  /** Whether the response region holds a trained token. */
  get hasTrainedTokens(): boolean {
    return this.#buffer.hasTrained(this.#promptLength)
  }

  /** The sample as it stands: a copy, so the builder may go on. Linear in its tokens. */
  toSample(base: SampleBase): Sample {
    const limit = base.maxSampleTokens === undefined || base.maxSampleTokens === 0 ? Infinity : base.maxSampleTokens
    const end = Math.min(this.#buffer.length, limit)
    const { tokens, lossMask, logprobs } = this.#buffer.slice(this.#promptLength, end)
    const turns = this.#spans.map(({ turn }) => turn)
    const rollout = base.rolloutId ?? rolloutId('rollout')
    return {
      id: base.sampleId ?? sampleId(rollout),
      groupId: base.groupId ?? groupId('group'),
      rolloutId: rollout,
      tokens,
      promptLength: this.#promptLength,
      responseLength: end - this.#promptLength,
      lossMask,
      logprobs,
      reward: base.reward,
      status: statusOf(turns.at(-1), end < this.#buffer.length),
      isRemoved: !lossMask.includes(1),
      weightVersions: [...new Set(turns.flatMap((turn) => (turn.weightSpans ?? []).map((span) => span.version)))],
      metadata: {
        truncated: turns.at(-1)?.finishReason === 'length',
        use_tool: false,
        ill_formed: turns.some((turn) => turn.illFormed),
        ...base.metadata,
      },
    }
  }

  #realign(drift: Drift): void {
    const last = this.#spans.pop()
    if (last === undefined) return
    const keptEnd = this.#alignment === 'rerender' ? last.tokenStart : drift.commonTokens
    this.#buffer.truncate(keptEnd)
    this.#spans.push({ ...last, tokenEnd: keptEnd })
  }
}

function statusOf(lastTurn: Turn | undefined, isCut: boolean): SampleStatus {
  if (lastTurn?.finishReason === 'abort') return 'aborted'
  return isCut || lastTurn?.finishReason === 'length' ? 'truncated' : 'completed'
}
