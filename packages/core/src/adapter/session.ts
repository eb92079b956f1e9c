import { createHash } from 'node:crypto'
import { type EngineError, type Ledger, type Sample, type SessionId, type Turn, WireError } from '@agentrl/spec'
import type { Departure } from '../alignment/drift-causes.ts'
import type { LinearizeOptions } from '../alignment/linearize.ts'
import type { UntrainedReason } from '../alignment/message-tree.ts'
import { Trajectory, type TrajectoryOptions } from '../alignment/trajectory.ts'
import { Counters } from '../counters.ts'
import { type HistoryReasoning, historyReasoningField } from '../history-reasoning.ts'
import { BranchTracker } from './branch-tracker.ts'
import { type DecodeIds, DriftLog } from './drift-log.ts'
import type { ChatReply, ChatRequest } from './protocols/protocol.ts'
import { type ResolvedSessionOptions, resolveSessionOptions, type SessionOptions } from './session-options.ts'
import type { TurnClient, TurnConversation } from './turn-context.ts'
import { UndeliveredReplies } from './undelivered-replies.ts'

/** What all sessions of an adapter have in common. */
export interface SessionParts {
  readonly trajectory: TrajectoryOptions
  /** Written into each sample. */
  readonly historyReasoning: HistoryReasoning
}

/**
 * The conversation of one attempt with the adapter.
 *
 *   open ──turns──▶ closing ──in-flight turns end──▶ closed ──▶ linearize
 *
 * A session that is closing takes no new turn (503). Its in-flight turns get a
 * grace period, then their engine calls are aborted, so that nothing samples
 * for nobody.
 */
export class Session {
  /** Also the session's API key: never logged, never sent to an engine. */
  readonly id: SessionId
  /** Names the session where the key must not show: at the engine, in logs. */
  readonly handle: string
  readonly options: ResolvedSessionOptions
  readonly trajectory: Trajectory
  readonly counters: Counters = new Counters()
  readonly #branches: BranchTracker
  readonly #drifts = new DriftLog(this.counters)
  readonly #undelivered = new UndeliveredReplies()
  /** The ids that the model wrote for its calls, by the ids that the client got. */
  readonly modelCallIds: Map<string, string> = new Map()
  readonly #inFlight = new Set<Promise<unknown>>()
  readonly #abort = new AbortController()
  /** The failure of the engine that the session's latest turn ended in; null if a reply came. */
  engineFailure: EngineError | null = null
  readonly #historyReasoning: HistoryReasoning
  #turnsBegun = 0
  /** Of those begun: the request was refused before anything was sampled. */
  #turnsRefused = 0
  #isClosing = false

  constructor(id: SessionId, options: SessionOptions, { trajectory, historyReasoning }: SessionParts) {
    this.id = id
    this.handle = `${id.slice(0, id.lastIndexOf('-'))}-${createHash('sha256').update(id).digest('hex').slice(0, 16)}`
    this.options = resolveSessionOptions(options)
    this.trajectory = new Trajectory(trajectory)
    this.#branches = new BranchTracker(this.trajectory)
    this.#historyReasoning = historyReasoning
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  get inFlightTurns(): number {
    return this.#inFlight.size
  }

  /**
   * Runs one turn: refuses it when the session is closing (`wire_session_closed`)
   * or out of turns (`wire_turn_cap`), and gives it its number and a signal that
   * ends with the session. `prepare` makes what is to be sampled: a request that
   * it refuses, as one that overflows, uses up no turn.
   */
  async run<Prepared, Result>(
    prepare: () => Promise<Prepared>,
    task: (prepared: Prepared, turnNumber: number, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    this.#refuseIfClosing()
    if (this.#turnsBegun - this.#turnsRefused >= this.options.turnCap) {
      this.counters.add('turn_cap_reached')
      throw new WireError('wire_turn_cap', `This session may sample ${this.options.turnCap} turns, and has`)
    }
    this.#turnsBegun += 1
    const running = this.#runTurn(this.#turnsBegun, prepare, task)
    this.#inFlight.add(running)
    try {
      return await running
    } finally {
      this.#inFlight.delete(running)
    }
  }

  async #runTurn<Prepared, Result>(
    turnNumber: number,
    prepare: () => Promise<Prepared>,
    task: (prepared: Prepared, turnNumber: number, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    let prepared: Prepared
    try {
      prepared = await prepare()
    } catch (error) {
      this.#turnsRefused += 1
      throw error
    }
    return task(prepared, turnNumber, this.#abort.signal)
  }

  /** The first departure of each cause, with the place where it shows. */
  get drifts(): readonly Departure[] {
    return this.#drifts.examples
  }

  /**
   * The reply to a request that was answered before, where the answer did not
   * reach the client: nothing is sampled. Null: the request is new, or its
   * reply was delivered. `conversationOf` is called only if there is a reply to
   * look for. Throws `wire_session_closed`.
   */
  replayUndelivered(conversationOf: () => TurnConversation, signal: AbortSignal): ChatReply | null {
    if (this.#undelivered.isEmpty) return null
    this.#refuseIfClosing()
    const { messages, head } = conversationOf()
    const lost = this.#undelivered.take(this.trajectory.findReplies(messages, head))
    if (lost === null) return null
    this.counters.add('resend_replayed')
    this.#undelivered.watch(lost.handle, lost.reply, signal)
    return lost.reply
  }

  /** Records a turn with its role; `explain` counts why it is no plain continuation if it is none. Throws `trajectory_invalid_turn`. */
  recordTurn(recorded: {
    readonly turn: Turn
    readonly conversation: TurnConversation
    readonly request: ChatRequest
    readonly reply: ChatReply
    readonly client: TurnClient
  }): { explain(decode: DecodeIds): Promise<void> } {
    const { turn, conversation, request, reply, client } = recorded
    const { messages: promptMessages, head } = conversation
    const inherited = this.trajectory.inheritedReply(promptMessages, head)
    if (inherited !== null && this.#undelivered.arrived(inherited)) this.counters.add('lost_reply_arrived')
    const role = this.#branches.roleOf(conversation, request, client.header)
    const titles = this.#branches.demoteTitles(conversation)
    for (let title = 0; title < titles; title += 1) {
      this.#drifts.count({ cause: 'auxiliary', where: 'messages[0]', held: '', found: 'a request without tools' })
    }
    const explanation = this.trajectory.explain({ promptMessages, head, role, promptIds: turn.promptIds })
    const untrained: UntrainedReason | null =
      turn.illFormed && this.options.illFormedTurns === 'context' ? 'ill_formed_policy' : null
    const handle = this.trajectory.recordTurn({
      turn,
      promptMessages,
      responseMessage: reply.message,
      head,
      role,
      untrained,
    })
    this.#undelivered.watch(handle, reply, client.signal)
    return { explain: (decode) => this.#drifts.add(explanation, { conversation, decode }) }
  }

  /** Takes no further turn; waits for those in flight, and after `graceMs` aborts them. Doing it twice is fine. */
  async close({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#isClosing = true
    if (this.#inFlight.size === 0) return
    const ended = Promise.allSettled([...this.#inFlight])
    const deadline = AbortSignal.timeout(graceMs)
    const expired = new Promise<void>((resolve) => {
      deadline.addEventListener('abort', () => resolve(), { once: true })
    })
    await Promise.race([ended, expired])
    if (this.#inFlight.size === 0) return
    this.counters.add('turn_aborted_at_close', this.#inFlight.size)
    this.#abort.abort(new WireError('wire_session_closed', 'The session was closed while the engine was sampling'))
    await ended
  }

  /** The samples of the session and where its tokens went. */
  linearize(options: LinearizeOptions): { samples: Sample[]; ledger: Ledger } {
    const isInherited = this.trajectory.alignment === 'inherit'
    const metadata = { [historyReasoningField]: isInherited ? this.#historyReasoning : 'template', ...options.metadata }
    return this.trajectory.linearize({ branchPolicies: this.options.branchPolicies, ...options, metadata })
  }

  #refuseIfClosing(): void {
    if (!this.#isClosing) return
    throw new WireError('wire_session_closed', 'This session is finished: its attempt has ended')
  }
}
