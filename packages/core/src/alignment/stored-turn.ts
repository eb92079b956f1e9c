import type { FinishReason, Logprobs, RoutedExperts, SamplingRecord, TokenIds, Turn, WeightSpan } from '@agentrl/spec'
import { ExpertRows } from './expert-rows.ts'

/**
 * A turn as a session keeps it: without the part of its prompt that an earlier
 * turn of the session holds already.
 *
 *   base     ──── prompt ────┬─── output ───┐
 *   this     ────────── sharedTokens ───────┼─ suffixIds ─┬─── output ───
 *                     kept in the base      └───── kept here ────────────
 *
 * A session of n turns costs its own tokens once, not once for each turn. The
 * base is whatever turn the prompt has a start in common with; `sharedTokens`
 * is as long as it can be, so where it ends within the base is where the two
 * differ.
 */
export class StoredTurn implements Turn {
  readonly base: StoredTurn | null
  /** Tokens of the base, prompt and output, that the prompt starts with. */
  readonly sharedTokens: number
  /** The rest of the prompt. */
  readonly suffixIds: Int32Array
  readonly outputIds: TokenIds
  readonly outputLogprobs: Logprobs | null
  readonly finishReason: FinishReason
  readonly illFormed: boolean
  readonly sampling?: SamplingRecord
  readonly weightSpans?: readonly WeightSpan[]
  readonly routedExperts?: RoutedExperts
  /** Positions of prompt and output, from the first on, whose routing is known here or in the base. */
  readonly knownExpertRows: number

  /** Linear in the prompt. `base`: a turn that may have a start in common with it. */
  constructor(turn: Turn, base: StoredTurn | null) {
    const sharedTokens = base === null ? 0 : base.commonTokens(turn.promptIds)
    this.base = sharedTokens === 0 ? null : base
    this.sharedTokens = sharedTokens
    this.suffixIds = turn.promptIds.slice(sharedTokens)
    this.outputIds = turn.outputIds
    this.outputLogprobs = turn.outputLogprobs
    this.finishReason = turn.finishReason
    this.illFormed = turn.illFormed
    if (turn.sampling !== undefined) this.sampling = turn.sampling
    if (turn.weightSpans !== undefined) this.weightSpans = turn.weightSpans
    if (turn.routedExperts !== undefined) this.routedExperts = turn.routedExperts
    this.knownExpertRows = rowsAfter(Math.min(this.base?.knownExpertRows ?? 0, sharedTokens), turn.routedExperts)
  }

  get promptLength(): number {
    return this.sharedTokens + this.suffixIds.length
  }

  /** Tokens of prompt and output. */
  get length(): number {
    return this.promptLength + this.outputIds.length
  }

  /** A copy, made anew each time: linear in the prompt. */
  get promptIds(): TokenIds {
    const ids = new Int32Array(this.promptLength)
    for (const { tokenStart, source, length } of this.#pieces(0, ids.length)) {
      ids.set(source.subarray(0, length), tokenStart)
    }
    return ids
  }

  /** The prompt's ids from a position on. A view, where the position lies in the turn's own part. */
  promptFrom(position: number): Int32Array {
    if (position >= this.sharedTokens) return this.suffixIds.subarray(position - this.sharedTokens)
    return this.idsFrom(position, this.promptLength - position)
  }

  /** Ids from a position of prompt and output on; at most `count`. */
  idsFrom(position: number, count: number): Int32Array {
    const ids = new Int32Array(Math.max(0, Math.min(count, this.length - position)))
    for (const { tokenStart, source, length } of this.#pieces(position, position + ids.length)) {
      const skipped = Math.max(0, position - tokenStart)
      if (skipped < length) ids.set(source.subarray(skipped, length), tokenStart + skipped - position)
    }
    return ids
  }

  /** Tokens from the start on in which prompt and output agree with `ids`. Linear in it. */
  commonTokens(ids: TokenIds): number {
    let common = Math.min(this.length, ids.length)
    for (const { tokenStart, source, length } of this.#pieces(0, common)) {
      const end = Math.min(length, common - tokenStart)
      for (let index = 0; index < end; index += 1) {
        if (source[index] === ids[tokenStart + index]) continue
        common = tokenStart + index
        break
      }
    }
    return common
  }

  /** The routing of prompt and output from the first position on, as far as turns say it without a gap. */
  expertRows(): ExpertRows {
    const chain: StoredTurn[] = []
    for (let turn: StoredTurn | null = this; turn !== null; turn = turn.base) chain.push(turn)
    const rows = new ExpertRows()
    for (const turn of chain.reverse()) {
      rows.truncate(turn.sharedTokens)
      rows.write(turn.routedExperts)
    }
    return rows
  }

  /** The arrays that hold [start, end), newest first: `source[0]` stands at `tokenStart`, which may lie before `start`. */
  *#pieces(start: number, end: number): Generator<Piece> {
    let limit = end
    for (let turn: StoredTurn | null = this; turn !== null && limit > start; turn = turn.base) {
      const { promptLength, sharedTokens, suffixIds } = turn
      if (limit > promptLength) {
        yield { tokenStart: promptLength, source: turn.outputIds as Int32Array, length: limit - promptLength }
      }
      const suffixEnd = Math.min(limit, promptLength)
      if (suffixEnd > sharedTokens)
        yield { tokenStart: sharedTokens, source: suffixIds, length: suffixEnd - sharedTokens }
      limit = Math.min(limit, sharedTokens)
    }
  }
}

/** Rows that stand without a gap after some are added to those that do. */
function rowsAfter(rows: number, added: RoutedExperts | undefined): number {
  if (added === undefined || added.positionStart > rows) return rows
  return Math.max(rows, added.positionStart + added.indices.length / (added.layers * added.topK))
}

interface Piece {
  readonly tokenStart: number
  readonly source: Int32Array
  readonly length: number
}
