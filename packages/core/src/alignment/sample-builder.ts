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
  ValueError,
} from '@agentrl/spec'
import { type AlignmentMode, commonPrefixLength, type Drift, driftOf } from './classify-drift.ts'
import { ExpertRows } from './expert-rows.ts'
import { StoredTurn } from './stored-turn.ts'
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
  #experts = new ExpertRows()
  #promptLength = 0

  constructor(options: SampleBuilderOptions = {}) {
    this.#alignment = options.alignment ?? 'rerender'
    this.#forkThresholdTokens = options.forkThresholdTokens ?? defaultForkThresholdTokens
  }

  /** How `append` would take this turn. Changes nothing. Linear in the prompt; in its new part, if it extends the last turn. */
  classify(turn: Turn): Drift {
    const last = this.#spans.at(-1)
    if (last === undefined) return { kind: 'clean', commonTokens: 0, driftTokens: 0 }
    return driftOf({
      heldTokens: this.#buffer.length,
      commonTokens:
        extensionOf(turn, last)?.sharedTokens ??
        commonPrefixLength(this.#buffer.ids, turn.promptIds as ArrayLike<number>),
      lastResponseStart: last.tokenStart,
      lastFinishReason: last.turn.finishReason,
      outputTokens: turn.outputIds.length,
      alignment: this.#alignment,
      forkThresholdTokens: this.#forkThresholdTokens,
    })
  }

  /**
   * Takes a turn in, unless it would fork: then nothing changes, and the caller
   * opens another builder. `trained: false` keeps its ids as context (mask 0).
   * A turn without log-probabilities is never trained. Throws
   * `trajectory_invalid_turn`. Linear in the prompt; in its new part, if it
   * extends the last turn.
   */
  append(turn: Turn, options: { readonly trained?: boolean } = {}): Drift {
    const last = this.#spans.at(-1)
    if (!(turn instanceof StoredTurn)) checkTurn(turn)
    const drift = this.classify(turn)
    if (drift.kind === 'fork') return drift
    if (drift.kind === 'realign') this.#realign(drift)
    this.#appendExperts(turn, last, drift.commonTokens)
    this.#buffer.appendContext(promptFrom(turn, this.#buffer.length))
    if (last === undefined) this.#promptLength = this.#buffer.length
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

  /** The sample as it stands: a copy, so the builder may go on. Throws `value_invalid`. Linear in its tokens. */
  toSample(base: SampleBase): Sample {
    const { maxSampleTokens = 0 } = base
    if (!Number.isInteger(maxSampleTokens) || maxSampleTokens < 0) {
      throw new ValueError(
        'value_invalid',
        `maxSampleTokens is a whole number, 0 for no limit; found ${maxSampleTokens}`,
      )
    }
    const limit = maxSampleTokens === 0 ? Infinity : maxSampleTokens
    const end = Math.min(this.#buffer.length, limit)
    const { tokens, lossMask, logprobs } = this.#buffer.slice(this.#promptLength, end)
    const turns = this.#spans.map(({ turn }) => turn)
    const rollout = base.rolloutId ?? rolloutId('rollout')
    const experts = this.#experts.first(end - 1)
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
      ...(experts === null ? {} : { routedExperts: { ...experts, indices: experts.indices.slice() } }),
      metadata: {
        truncated: turns.at(-1)?.finishReason === 'length',
        use_tool: false,
        ill_formed: turns.some((turn) => turn.illFormed),
        ...base.metadata,
      },
    }
  }

  #appendExperts(turn: Turn, last: ResponseSpan | undefined, commonTokens: number): void {
    if (turn instanceof StoredTurn && extensionOf(turn, last) === null) {
      this.#experts = turn.expertRows()
      return
    }
    this.#experts.truncate(commonTokens)
    this.#experts.write(turn.routedExperts)
  }

  #realign(drift: Drift): void {
    const last = this.#spans.pop()
    if (last === undefined) return
    const keptEnd = this.#alignment === 'rerender' ? last.tokenStart : drift.commonTokens
    this.#buffer.truncate(keptEnd)
    this.#spans.push({ ...last, tokenEnd: keptEnd })
  }
}

/**
 * The turn, if it is stored on top of the last one: then it knows how far it
 * agrees with what is held, which is the last turn's prompt and output whatever
 * was realigned.
 */
function extensionOf(turn: Turn, last: ResponseSpan | undefined): StoredTurn | null {
  return turn instanceof StoredTurn && last !== undefined && turn.base === last.turn ? turn : null
}

function promptFrom(turn: Turn, position: number): Int32Array {
  return turn instanceof StoredTurn ? turn.promptFrom(position) : (turn.promptIds as Int32Array).subarray(position)
}

function statusOf(lastTurn: Turn | undefined, isCut: boolean): SampleStatus {
  if (lastTurn?.finishReason === 'abort') return 'aborted'
  return isCut || lastTurn?.finishReason === 'length' ? 'truncated' : 'completed'
}
