import { ValueError } from '@agentrl/spec'
import { byWeightDescending } from './by-weight-descending.ts'
import { checkCount, checkWeights } from './weights.ts'

/**
 * The largest differencing method of Karmarkar and Karp, for k bins.
 *
 * A state is a partial partition into k sets, largest first. Every sample
 * starts as a state of its own. The two states with the largest spread (first
 * set minus last) are merged, the largest set of the one with the smallest of
 * the other, until one is left:
 *
 *     [9 0 0] + [7 0 0] → [9 7 0]        what differs most is put apart
 *     [9 7 0] + [6 0 0] → [9 7 6]
 *     [9 7 6] + [4 0 0] → [10 9 7]       and then evens out
 *
 * Ties go as in slime's and verl's implementation (a set is larger by sum, then
 * by count, then by the index of its first sample), so for integer weights the
 * partition is the same, set by set. The cost is not: empty sets are not stored,
 * a set is a linked list that merges in O(1), and a merge touches the sets that
 * change. Filling one state to k sets costs O(1) a sample while weights fall.
 *
 * Source: Karmarkar and Karp 1982, "The differencing method of set
 * partitioning"; for k > 2, Michiels et al. 2003.
 */

export interface KarmarkarKarpOptions {
  /** Every bin gets the same number of samples, which must divide. Default false. */
  readonly isEqualCount?: boolean
}

/**
 * `binCount` bins of sample indices, fullest first, indices ascending within a
 * bin; the last bins are empty where there are fewer samples than bins. Typical
 * cost O(n log n), at worst O(n · binCount). Throws `value_invalid` for a
 * weight that is negative or not finite, a bin count below 1, or a count that
 * does not divide.
 *
 * @example
 * karmarkarKarp([8, 7, 6, 5, 4], 2) // → [[1, 3, 4], [0, 2]]
 */
export function karmarkarKarp(
  weights: readonly number[],
  binCount: number,
  options: KarmarkarKarpOptions = {},
): number[][] {
  checkWeights(weights)
  checkCount('binCount', binCount)
  const { isEqualCount = false } = options
  if (isEqualCount && weights.length % binCount !== 0) {
    throw new ValueError('value_invalid', `${weights.length} samples can't be divided evenly into ${binCount} bins`, {
      details: { samples: weights.length, binCount },
    })
  }
  const sets = new SampleSets(weights)
  const order = [...byWeightDescending(weights, 'later-first')]
  const states = isEqualCount ? chunk(order, binCount) : order.map((sample) => [sample])
  const merged = mergeStates(states, sets, binCount)
  return Array.from({ length: binCount }, (_, bin) => {
    const set = merged[bin]
    return set === undefined ? [] : sets.membersOf(set)
  })
}

/** A partial partition: ids of its non-empty sets, largest first. */
type State = number[]

/** Disjoint sets of samples, named by one of their samples; merging moves links, not samples. */
class SampleSets {
  readonly sums: Float64Array
  readonly #counts: Int32Array
  readonly #firsts: Int32Array
  readonly #lasts: Int32Array
  readonly #nexts: Int32Array

  constructor(weights: readonly number[]) {
    this.sums = Float64Array.from(weights)
    this.#counts = new Int32Array(weights.length).fill(1)
    this.#firsts = Int32Array.from(weights, (_, sample) => sample)
    this.#lasts = Int32Array.from(this.#firsts)
    this.#nexts = new Int32Array(weights.length).fill(-1)
  }

  /** Negative when `left` comes first in a state: it is larger by sum, count, then first sample. */
  compare(left: number, right: number): number {
    return (
      (this.sums[right] as number) - (this.sums[left] as number) ||
      (this.#counts[right] as number) - (this.#counts[left] as number) ||
      (this.#firsts[right] as number) - (this.#firsts[left] as number)
    )
  }

  /** Appends the samples of `from` to `into`; `from` is no set any more. */
  merge(into: number, from: number): void {
    this.sums[into] = (this.sums[into] as number) + (this.sums[from] as number)
    this.#counts[into] = (this.#counts[into] as number) + (this.#counts[from] as number)
    this.#nexts[this.#lasts[into] as number] = this.#firsts[from] as number
    this.#lasts[into] = this.#lasts[from] as number
  }

  /** The samples of a set, ascending. */
  membersOf(set: number): number[] {
    const members: number[] = []
    for (let sample = this.#firsts[set] as number; sample >= 0; sample = this.#nexts[sample] as number) {
      members.push(sample)
    }
    return members.sort((left, right) => left - right)
  }
}

function chunk(order: readonly number[], size: number): State[] {
  const states: State[] = []
  for (let start = 0; start < order.length; start += size) states.push(order.slice(start, start + size))
  return states
}

/** Merges all states into one, the two of largest spread first. */
function mergeStates(states: State[], sets: SampleSets, binCount: number): State {
  const spreads = states.map((state) => spreadOf(state, sets, binCount))
  const comesFirst = (left: number, right: number): boolean => {
    const difference = (spreads[left] as number) - (spreads[right] as number)
    if (difference !== 0) return difference > 0
    return sets.compare((states[left] as State)[0] as number, (states[right] as State)[0] as number) < 0
  }
  const heap = states.map((_, state) => state).sort((left, right) => (comesFirst(left, right) ? -1 : 1))
  while (heap.length > 1) {
    const kept = heap[0] as number
    const joining = popSecond(heap, comesFirst)
    states[kept] = mergePair(states[kept] as State, states[joining] as State, { sets, binCount })
    spreads[kept] = spreadOf(states[kept] as State, sets, binCount)
    sink(heap, 0, comesFirst)
  }
  return states[heap[0] ?? 0] ?? []
}

function spreadOf(state: State, sets: SampleSets, binCount: number): number {
  const last = state.length < binCount ? 0 : (sets.sums[state[binCount - 1] as number] as number)
  return (sets.sums[state[0] as number] as number) - last
}

/**
 * Set i of `base` takes set k − 1 − i of `other`. Where `base` has no set
 * there, the set of `other` moves over as it is.
 */
function mergePair(base: State, other: State, context: { sets: SampleSets; binCount: number }): State {
  const { sets, binCount } = context
  const untouched = Math.min(base.length, binCount - other.length)
  const changed: number[] = []
  other.forEach((set, position) => {
    const partner = base[binCount - 1 - position]
    if (partner === undefined) {
      changed.push(set)
      return
    }
    sets.merge(partner, set)
    changed.push(partner)
  })
  if (base.length + other.length > binCount) changed.sort((left, right) => sets.compare(left, right))
  base.length = untouched
  return mergeSorted(base, changed, sets)
}

/** One sorted state out of two. A state is filled in falling order, so that nearly every set is appended. */
function mergeSorted(base: State, changed: readonly number[], sets: SampleSets): State {
  for (const set of changed) base.splice(placeOf(set, base, sets), 0, set)
  return base
}

/** Where a set belongs in a sorted state: at its end, or found by bisection. */
function placeOf(set: number, state: State, sets: SampleSets): number {
  const last = state.at(-1)
  if (last === undefined || sets.compare(last, set) < 0) return state.length
  let low = 0
  let high = state.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sets.compare(state[middle] as number, set) < 0) low = middle + 1
    else high = middle
  }
  return low
}

type ComesFirst = (left: number, right: number) => boolean

/** Takes the second of a binary heap out of it: the first of the root's children. */
function popSecond(heap: number[], comesFirst: ComesFirst): number {
  const hasTwo = heap.length > 2
  const node = hasTwo && comesFirst(heap[2] as number, heap[1] as number) ? 2 : 1
  const second = heap[node] as number
  const last = heap.pop() as number
  if (node < heap.length) {
    heap[node] = last
    sink(heap, node, comesFirst)
  }
  return second
}

function sink(heap: number[], start: number, comesFirst: ComesFirst): void {
  const moving = heap[start] as number
  let node = start
  for (let child = 2 * node + 1; child < heap.length; child = 2 * node + 1) {
    if (child + 1 < heap.length && comesFirst(heap[child + 1] as number, heap[child] as number)) child += 1
    if (!comesFirst(heap[child] as number, moving)) break
    heap[node] = heap[child] as number
    node = child
  }
  heap[node] = moving
}
