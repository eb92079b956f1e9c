import {
  type Bucket,
  type GroupId,
  type Ledger,
  type RolloutId,
  rolloutId,
  type Sample,
  type SampleMetadata,
  sampleId,
} from '@agentrl/spec'
import type { BranchPolicies } from './branch-policy.ts'
import type { AlignmentMode } from './classify-drift.ts'
import { emptyLedger, reconcile } from './ledger.ts'
import type { MessageNode } from './message-tree.ts'
import { keepExpertsOfAllOrNone } from './routed-experts.ts'
import { type ResponseSpan, SampleBuilder } from './sample-builder.ts'
import { type Branch, findBranches, type GeneratedNode } from './trained-branches.ts'

/**
 * From trees of turns to samples and a ledger.
 *
 * Each branch is one conversation that ends in a turn to be trained; its turns
 * fill a builder until one forks, which opens the next. The first branch to
 * reach a turn trains it, later ones hold it as context. Every sampled token is
 * then looked up once: what its builder kept, dropped, cut or could not train
 * decides its bucket.
 */

export interface LinearizeOptions {
  /** Written whole into every sample; null if infrastructure kept the attempt from being graded. */
  readonly reward: number | null
  readonly groupId?: GroupId
  readonly rolloutId?: RolloutId
  /** Tokens after which a sample is cut. Default, and 0: no limit. */
  readonly maxSampleTokens?: number
  /** What becomes of the turns of each kind of branch. Default: all are trained. */
  readonly branchPolicies?: Partial<BranchPolicies>
  readonly metadata?: Readonly<Record<string, SampleMetadata[string]>>
}

interface TreeOptions extends LinearizeOptions {
  readonly alignment: AlignmentMode
  readonly forkThresholdTokens: number
  /** Tokens in no turn, by bucket. */
  readonly discarded: Readonly<Record<string, number>>
  readonly lostCalls: number
}

export function linearizeTrees(
  roots: readonly MessageNode[],
  options: TreeOptions,
): { samples: Sample[]; ledger: Ledger } {
  const { branches, nodes } = findBranches(roots, options.branchPolicies)
  const claimed = new Set<GeneratedNode>()
  const samples: Sample[] = []
  const account = new SpanAccount(options.alignment)
  for (const branch of branches) {
    const metadata = pathMetadata(branch, options.metadata)
    for (const packed of packBranch(branch, claimed, options)) {
      const sample = takeSample(packed.builder, samples.length, metadata, options)
      if (sample !== null) samples.push(sample)
      account.add(packed, sample)
    }
  }
  for (const node of nodes) if (!claimed.has(node)) account.addUntrained(node)
  return {
    samples: keepExpertsOfAllOrNone(samples),
    ledger: account.close(options.discarded, options.lostCalls),
  }
}

/** A builder with the nodes that it holds, in order. */
interface PackedBuilder {
  readonly builder: SampleBuilder
  readonly nodes: { readonly node: GeneratedNode; readonly isFirstClaim: boolean }[]
  /** Sampled positions of the sample before it that its first prompt repeats. */
  readonly inheritedPositions: number
}

function packBranch(branch: Branch, claimed: Set<GeneratedNode>, options: TreeOptions): PackedBuilder[] {
  const packed: PackedBuilder[] = []
  for (const node of branch.nodes) {
    const isFirstClaim = !claimed.has(node)
    claimed.add(node)
    const trained = isFirstClaim && node.untrained === null
    const current = packed.at(-1)
    const drift = current?.builder.append(node.turn, { trained })
    if (current !== undefined && drift?.kind !== 'fork') {
      current.nodes.push({ node, isFirstClaim })
      continue
    }
    const builder = new SampleBuilder(options)
    builder.append(node.turn, { trained })
    const inheritedPositions = current === undefined ? 0 : sampledWithin(current.builder, drift?.commonTokens ?? 0)
    packed.push({ builder, nodes: [{ node, isFirstClaim }], inheritedPositions })
  }
  return packed
}

function sampledWithin(builder: SampleBuilder, tokenEnd: number): number {
  return builder.responses.reduce(
    (total, span) => total + Math.max(0, Math.min(span.tokenEnd, tokenEnd) - span.tokenStart),
    0,
  )
}

/** Adds up where sampled tokens went. Each node is looked at once, at its first claim; later stands are context. */
class SpanAccount {
  readonly #alignment: AlignmentMode
  readonly #buckets: Record<Bucket, number> = { ...emptyLedger().buckets }
  #sampledTokens = 0
  #contextRepeatPositions = 0

  constructor(alignment: AlignmentMode) {
    this.#alignment = alignment
  }

  add({ builder, nodes, inheritedPositions }: PackedBuilder, sample: Sample | null): void {
    if (sample !== null) this.#contextRepeatPositions += Math.min(inheritedPositions, sample.tokens.length)
    for (const [index, span] of builder.responses.entries()) {
      const entry = nodes[index] as PackedBuilder['nodes'][number]
      const visible = sample === null ? 0 : Math.max(0, Math.min(span.tokenEnd, sample.tokens.length) - span.tokenStart)
      if (entry.isFirstClaim) this.#claim(span, entry.node, visible)
      else this.#contextRepeatPositions += visible
    }
  }

  /** A turn that no sample trains. */
  addUntrained({ turn, untrained }: GeneratedNode): void {
    this.#sampledTokens += turn.outputIds.length
    this.#buckets[untrained ?? 'no_logprobs'] += turn.outputIds.length
  }

  close(discarded: TreeOptions['discarded'], lostCalls: number): Ledger {
    for (const [bucket, tokens] of Object.entries(discarded)) {
      this.#buckets[bucket as Bucket] += tokens
      this.#sampledTokens += tokens
    }
    return reconcile({
      sampledTokens: this.#sampledTokens,
      buckets: { ...this.#buckets },
      contextRepeatPositions: this.#contextRepeatPositions,
      lostCalls,
    })
  }

  #claim(span: ResponseSpan, node: GeneratedNode, visible: number): void {
    if (!span.isTrained) {
      this.addUntrained(node)
      return
    }
    const sampled = span.turn.outputIds.length
    const held = span.tokenEnd - span.tokenStart
    this.#sampledTokens += sampled
    this.#buckets[this.#alignment === 'inherit' ? 'stop_token_mismatch' : 'realigned'] += sampled - held
    this.#buckets.truncated += held - visible
    this.#buckets.trained += visible
  }
}

function pathMetadata(branch: Branch, extra: LinearizeOptions['metadata']): SampleMetadata {
  const { nodes } = branch
  return {
    ...extra,
    truncated: nodes.at(-1)?.turn.finishReason === 'length',
    use_tool: nodes.some(({ message }) => message?.role === 'assistant' && (message.tool_calls ?? []).length > 0),
    ill_formed: nodes.some(({ turn }) => turn.illFormed),
  }
}

/**
 * Null: nothing in it trains. A sample whose trained tokens all lie beyond the
 * limit is none either, but in rerender mode, where the reference gives one.
 */
function takeSample(
  builder: SampleBuilder,
  index: number,
  metadata: SampleMetadata,
  options: TreeOptions,
): Sample | null {
  if (!builder.hasTrainedTokens) return null
  const rollout = options.rolloutId ?? rolloutId('rollout')
  const sample = builder.toSample({
    reward: options.reward,
    rolloutId: rollout,
    sampleId: sampleId(`${rollout}.${index}`),
    metadata,
    ...(options.groupId === undefined ? {} : { groupId: options.groupId }),
    ...(options.maxSampleTokens === undefined ? {} : { maxSampleTokens: options.maxSampleTokens }),
  })
  return sample.isRemoved && options.alignment === 'inherit' ? null : sample
}
