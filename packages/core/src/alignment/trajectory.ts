import {
  type AssistantMessage,
  type Bucket,
  type Ledger,
  type Message,
  type Sample,
  type TokenIds,
  TrajectoryError,
  type Turn,
} from '@agentrl/spec'
import { Counters } from '../counters.ts'
import type { AlignmentMode } from './classify-drift.ts'
import { findTokenDrift } from './classify-tokens.ts'
import { type Explanation, explainDeparture, explainEcho, type HeldReply } from './explain-request.ts'
import { type LinearizeOptions, linearizeTrees } from './linearize.ts'
import { type MessagesEqual, messagesEquivalent, messagesIdentical, replyKey } from './message-equality.ts'
import {
  addChild,
  type BranchRole,
  createRoot,
  findDeepest,
  findFirst,
  lastGenerated,
  type MessageNode,
  nodesBelow,
  type Path,
  pathTo,
  type UntrainedReason,
} from './message-tree.ts'
import { defaultForkThresholdTokens } from './sample-builder.ts'
import { StoredTurn } from './stored-turn.ts'
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

/** A recorded turn, as far as it can still be changed. */
export interface TurnHandle {
  /** The bucket that takes the turn's tokens instead of training; null: they are trained. */
  untrained: UntrainedReason | null
}

/** Why sampled tokens never became part of a turn, or no longer are. */
export type DiscardReason = Extract<
  Bucket,
  'disconnected' | 'engine_aborted' | 'rewrite_merged' | 'stop_token_mismatch'
>

/** Where a request continues what was sampled before. */
export interface Inheritance {
  /** The last sampled turn on the path of the request; null if there is none. */
  readonly turn: Turn | null
  /** How many messages of the request that turn's prompt and reply account for. */
  readonly messageCount: number
}

/** A request that is about to be recorded. */
export interface ExplainedRequest {
  readonly promptMessages: readonly Message[]
  readonly head?: string
  readonly role?: BranchRole
  readonly promptIds: TokenIds
}

export class Trajectory {
  readonly alignment: AlignmentMode
  readonly #forkThresholdTokens: number
  readonly #isEqual: MessagesEqual
  readonly #roots = new Map<string, MessageNode>()
  /** By root: a turn whose prompt those of new branches start alike. */
  readonly #latestTurns = new Map<MessageNode, StoredTurn>()
  readonly #latestReplies = new Map<BranchRole, HeldReply>()
  #lastWalk: Walk | null = null
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
    const inherited = root === undefined ? null : lastGenerated(this.#find(root, promptMessages))
    return { turn: inherited?.node.turn ?? null, messageCount: inherited?.depth ?? 0 }
  }

  /** Positions of a prompt whose expert routing the turn that it goes on from has: no engine need return them again. */
  knownExpertRows({ promptMessages, head = '', promptIds }: Omit<ExplainedRequest, 'role'>): number {
    const root = this.#roots.get(head)
    const turn = root === undefined ? null : lastGenerated(this.#find(root, promptMessages))?.node.turn
    return turn == null || turn.knownExpertRows === 0 ? 0 : Math.min(turn.commonTokens(promptIds), turn.knownExpertRows)
  }

  /** The role of the turn that a request inherits from; null if there is none. */
  inheritedRole(promptMessages: readonly Message[], head = ''): BranchRole | null {
    const root = this.#roots.get(head)
    return root === undefined ? null : (lastGenerated(this.#find(root, promptMessages))?.node.role ?? null)
  }

  /**
   * How a request relates to what the session holds: why it does not go on
   * there, if it does not. Changes nothing: ask before `recordTurn`. Linear in
   * the text of the messages and in the prompt.
   */
  explain({ promptMessages, head = '', role = 'main', promptIds }: ExplainedRequest): Explanation {
    const root = this.#roots.get(head)
    const path = root === undefined ? null : this.#find(root, promptMessages)
    const inherited = path === null ? null : lastGenerated(path)
    const latestReply = this.#latestReplies.get(role)
    const place = { role, path, inherited, latestReply, isEqual: this.#isEqual }
    const turn = inherited?.node.turn ?? null
    return {
      departure: explainDeparture({ head, messages: promptMessages }, place),
      absorbed: inherited === null ? null : explainEcho(inherited, promptMessages),
      tokenDrift: turn === null ? null : findTokenDrift(turn, promptIds as Int32Array),
    }
  }

  /** The reply that a request goes on from; null if there is none. */
  inheritedReply(promptMessages: readonly Message[], head = ''): TurnHandle | null {
    const root = this.#roots.get(head)
    return root === undefined ? null : (lastGenerated(this.#find(root, promptMessages))?.node ?? null)
  }

  /** Replies that were sampled for exactly these messages, in the order in which they were. */
  findReplies(promptMessages: readonly Message[], head = ''): readonly TurnHandle[] {
    const root = this.#roots.get(head)
    if (root === undefined) return []
    const { node, depth } = this.#find(root, promptMessages)
    return depth < promptMessages.length ? [] : node.children.filter(({ turn }) => turn !== null)
  }

  /** Whether the main conversation's replies stand among the messages of a request, whatever its head. Linear in both. */
  isQuotedIn(messages: readonly Message[]): boolean {
    const latest = this.#latestReplies.get('main')
    if (latest === undefined) return false
    const replies = new Map<string, AssistantMessage[]>()
    for (const { turn, message } of pathTo(latest.node)) {
      if (turn === null || message?.role !== 'assistant') continue
      const key = replyKey(message)
      const alike = replies.get(key)
      if (alike === undefined) replies.set(key, [message])
      else alike.push(message)
    }
    return messages.some(
      (message) =>
        message.role === 'assistant' &&
        (replies.get(replyKey(message)) ?? []).some((reply) => this.#isEqual(reply, message)),
    )
  }

  /** Whether a conversation under a head begins with the message that a request begins with. */
  isBegunBy(messages: readonly Message[], head: string): boolean {
    const root = this.#roots.get(head)
    return root !== undefined && this.#find(root, messages.slice(0, 1)).depth > 0
  }

  /** Gives branches of one head another role, where only a later request shows what they are for. */
  changeRole(head: string, from: BranchRole, to: BranchRole): void {
    const root = this.#roots.get(head)
    for (const node of root === undefined ? [] : nodesBelow(root)) if (node.role === from) node.role = to
    const latest = this.#latestReplies.get(from)
    if (latest?.head !== head) return
    this.#latestReplies.delete(from)
    this.#latestReplies.set(to, latest)
  }

  /**
   * Records one engine call, and returns a handle by which what becomes of the
   * turn can still be changed. Throws `trajectory_invalid_turn`. Linear in the
   * text of the messages and in the prompt; keeps what is new of them.
   */
  recordTurn({
    turn,
    promptMessages,
    responseMessage,
    head = '',
    role = 'main',
    untrained = null,
  }: RecordedTurn): TurnHandle {
    checkTurn(turn)
    if (promptMessages.length === 0) {
      throw new TrajectoryError('trajectory_invalid_turn', 'A turn needs at least one prompt message; found none')
    }
    const root = this.#rootOf(head)
    const path = this.#find(root, promptMessages)
    const inherited = lastGenerated(path)
    let { node, depth } = path
    const rewritten = this.alignment === 'rerender' ? this.#rewriteTarget(node, promptMessages[depth]) : null
    if (rewritten !== null) {
      this.recordDiscarded('rewrite_merged', rewritten.turn?.outputIds.length ?? 0)
      rewritten.turn = null
      rewritten.message = promptMessages[depth] ?? null
      node = rewritten
      depth += 1
    }
    if (inherited !== null) rememberEcho(inherited.node, promptMessages[inherited.depth - 1])
    for (const message of promptMessages.slice(depth)) {
      node = addChild(node, { message, turn: null, role, untrained: null })
    }
    const stored = new StoredTurn(turn, inherited?.node.turn ?? this.#latestTurns.get(root) ?? null)
    const reply = addChild(node, { message: responseMessage, turn: stored, role, untrained })
    this.#latestTurns.set(root, stored)
    this.#latestReplies.set(role, { head, node: reply })
    this.#turnCount += 1
    this.#lastWalk = null
    return reply
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

  /** A request is looked up by its prompt, its role, its explanation and its record: the walk is done once. */
  #find(root: MessageNode, messages: readonly Message[]): Path {
    const last = this.#lastWalk
    const isSame = last?.root === root && last.messages === messages && last.messageCount === messages.length
    if (isSame) return last.path
    const find = this.alignment === 'inherit' ? findDeepest : findFirst
    const path = find(root, messages, this.#isEqual)
    this.#lastWalk = { root, messages, messageCount: messages.length, path }
    return path
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

/** Where a list of messages led, as long as no turn was recorded since. */
interface Walk {
  readonly root: MessageNode
  readonly messages: readonly Message[]
  readonly messageCount: number
  readonly path: Path
}

/** A reply comes back in a client's own spelling turn after turn: the first time it is compared in meaning, then as text. */
function rememberEcho(node: MessageNode, echo: Message | undefined): void {
  if (echo !== undefined && node.message !== null && !messagesIdentical(node.message, echo)) node.echo = echo
}
