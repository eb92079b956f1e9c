import { type Bucket, type Ledger, type Message, type Sample, TrajectoryError, type Turn } from '@agentrl/spec'
import { Counters } from '../counters.ts'
import type { AlignmentMode } from './classify-drift.ts'
import { type LinearizeOptions, linearizeTrees } from './linearize.ts'
import { type MessagesEqual, messagesEquivalent, messagesIdentical } from './message-equality.ts'
import {
  addChild,
  type BranchRole,
  createRoot,
  findDeepest,
  type MessageNode,
  type UntrainedReason,
} from './message-tree.ts'
import { defaultForkThresholdTokens } from './sample-builder.ts'
import { checkTurn } from './turn-check.ts'

/**
 * The turns of one session, and the samples that they make.
 *
 *   root ─ system ─ user ─ assistant₁* ─ tool ─ assistant₂* ─ user ─ assistant₃*
 *                                    └─ tool' ─ assistant₄*        (* generated)
 *
 * Each request of the client is a path of messages. Recording a turn mounts the
 * part of the path that the tree does not have yet and hangs the reply below
 * it. At the end each leaf is one conversation: its generated turns are packed
 * into samples, and a turn that several leaves share trains in the first only.
 *
 * Synchronous, and touches nothing outside: no clock, no file, no tokenizer.
 */

export interface TrajectoryOptions {
  /** `inherit` (default): prompts repeat sampled ids. `rerender`: prompts are rendered anew, as slime does. */
  readonly alignment?: AlignmentMode
  /** Rerender: outputs of at least this many ids fork on drift; 0 turns rewrite merging off. Default 1024. */
  readonly forkThresholdTokens?: number
}

/** One engine call with the conversation that it continued. */
export interface RecordedTurn {
  readonly turn: Turn
  /** The messages of the request, at least one. */
  readonly promptMessages: readonly Message[]
  /** The reply as the client got it; null if it had none. */
  readonly responseMessage: Message | null
  /** Names what stands before the messages (tools, template, its arguments): another head is another tree. Default ''. */
  readonly head?: string
  /** Default `main`. */
  readonly role?: BranchRole
  /** The bucket that takes the turn's tokens instead of training, where there is a reason. Default null. */
  readonly untrained?: UntrainedReason | null
}

/** Why sampled tokens never became part of a turn, or no longer are. */
export type DiscardReason = Extract<Bucket, 'engine_aborted' | 'rewrite_merged' | 'stop_token_mismatch'>

/** Where a request continues what was sampled before. */
export interface Inheritance {
  /** The last sampled turn on the path of the request; null if there is none. */
  readonly turn: Turn | null
  /** How many messages of the request that turn's prompt and reply account for. */
  readonly messageCount: number
}

export class Trajectory {
  readonly alignment: AlignmentMode
  readonly #forkThresholdTokens: number
  readonly #isEqual: MessagesEqual
  readonly #roots = new Map<string, MessageNode>()
  #turnCount = 0
  #lostCalls = 0
  readonly #discarded = new Counters()

  constructor(options: TrajectoryOptions = {}) {
    this.alignment = options.alignment ?? 'inherit'
    this.#forkThresholdTokens = options.forkThresholdTokens ?? defaultForkThresholdTokens
    this.#isEqual = this.alignment === 'inherit' ? messagesEquivalent : messagesIdentical
  }

  /** Turns recorded so far. */
  get turnCount(): number {
    return this.#turnCount
  }

  /** Where a request inherits from. Linear in the text of its messages. */
  findInheritance(promptMessages: readonly Message[], head = ''): Inheritance {
    const root = this.#roots.get(head)
    if (root === undefined) return { turn: null, messageCount: 0 }
    let { node, depth } = findDeepest(root, promptMessages, this.#isEqual)
    while (node.turn === null && node.parent !== null) {
      node = node.parent
      depth -= 1
    }
    return { turn: node.turn, messageCount: node.turn === null ? 0 : depth }
  }

  /** Records one engine call. Throws `trajectory_invalid_turn`. Linear in the text of the messages. */
  recordTurn({
    turn,
    promptMessages,
    responseMessage,
    head = '',
    role = 'main',
    untrained = null,
  }: RecordedTurn): void {
    checkTurn(turn)
    if (promptMessages.length === 0) {
      throw new TrajectoryError('trajectory_invalid_turn', 'A turn needs at least one prompt message; found none')
    }
    const root = this.#rootOf(head)
    let { node, depth } = findDeepest(root, promptMessages, this.#isEqual)
    const rewritten = this.alignment === 'rerender' ? this.#rewriteTarget(node, promptMessages[depth]) : null
    if (rewritten !== null) {
      this.recordDiscarded('rewrite_merged', rewritten.turn?.outputIds.length ?? 0)
      rewritten.turn = null
      rewritten.message = promptMessages[depth] ?? null
      node = rewritten
      depth += 1
    }
    for (const message of promptMessages.slice(depth))
      node = addChild(node, { message, turn: null, role, untrained: null })
    addChild(node, { message: responseMessage, turn, role, untrained })
    this.#turnCount += 1
  }

  /** Counts an engine call whose reply never came back: its tokens are unknown, but not unsaid. */
  recordLostCall(): void {
    this.#lostCalls += 1
  }

  /** Counts sampled tokens that can't be part of any turn, under the bucket that says why. */
  recordDiscarded(bucket: DiscardReason, tokens: number): void {
    this.#discarded.add(bucket, tokens)
  }

  /**
   * The samples of the session, and where each sampled token went. Every sample
   * carries the whole reward. Linear in the tokens of the turns' prompts; may be
   * called again.
   */
  linearize(options: LinearizeOptions): { samples: Sample[]; ledger: Ledger } {
    return linearizeTrees([...this.#roots.values()], {
      ...options,
      alignment: this.alignment,
      forkThresholdTokens: this.#forkThresholdTokens,
      lostCalls: this.#lostCalls,
      discarded: this.#discarded.toJSON(),
    })
  }

  #rootOf(head: string): MessageNode {
    const known = this.#roots.get(head)
    if (known !== undefined) return known
    const root = createRoot()
    this.#roots.set(head, root)
    return root
  }

  /**
   * A client may send a reply back slightly rewritten. Mounting that as a branch
   * would leave the sampled reply as a dead end that still trains; so if the
   * message to mount is an assistant's, and exactly one short sampled reply
   * hangs there with nothing below it, the rewrite takes its place and its
   * tokens stop training. slime's rule, and only in rerender mode.
   */
  #rewriteTarget(node: MessageNode, message: Message | undefined): MessageNode | null {
    if (this.#forkThresholdTokens <= 0 || message?.role !== 'assistant') return null
    const replies = node.children.filter((child) => child.turn !== null || child.message?.role === 'assistant')
    const [reply] = replies
    if (replies.length !== 1 || reply === undefined || reply.turn === null || reply.children.length > 0) return null
    return reply.turn.outputIds.length < this.#forkThresholdTokens ? reply : null
  }
}
