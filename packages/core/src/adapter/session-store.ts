import { randomBytes } from 'node:crypto'
import { type Ledger, type Sample, type SessionId, sessionId, WireError } from '@agentrl/spec'
import type { Departure } from '../alignment/drift-causes.ts'
import type { LinearizeOptions } from '../alignment/linearize.ts'
import { Session, type SessionParts } from './session.ts'
import type { SessionOptions } from './session-options.ts'

/** What is left of a finished session. */
export interface FinishedSession {
  readonly samples: readonly Sample[]
  readonly ledger: Ledger
  readonly counts: Readonly<Record<string, number>>
  /** The first departure of each cause, with the place where it shows. */
  readonly drifts: readonly Departure[]
}

export interface SessionStoreOptions extends SessionParts {
  /** Ids of ended sessions that are remembered, so that a straggler gets 503 and not 401. Default 10000. */
  readonly rememberedSessions?: number
}

/** The sessions of one adapter, by id. The id is the API key of the session: 256 random bits. */
export class SessionStore {
  readonly #sessions = new Map<string, Session>()
  /** Those whose end has begun: whoever began it takes what is left. */
  readonly #ending = new Set<string>()
  readonly #ended = new Set<string>()
  readonly #parts: SessionParts
  readonly #rememberedSessions: number

  constructor(options: SessionStoreOptions) {
    this.#parts = options
    this.#rememberedSessions = options.rememberedSessions ?? 10_000
  }

  /** Opens a session. `label` starts its id and is for people; it is no secret. Throws `config_invalid`. */
  open(options: SessionOptions & { readonly label?: string } = {}): Session {
    const label = (options.label ?? 'session').replace(/[^A-Za-z0-9-]+/g, '-').slice(0, 64)
    const id = sessionId(`${/^[A-Za-z0-9]/.test(label) ? label : 's'}-${randomBytes(32).toString('hex')}`)
    const session = new Session(id, options, this.#parts)
    this.#sessions.set(id, session)
    return session
  }

  /** The open session of a key. Throws `wire_unauthorized`, `wire_session_closed`. */
  get(key: string): Session {
    const session = this.#sessions.get(key)
    if (session !== undefined) return session
    if (this.#ended.has(key)) throw sessionFinished()
    throw new WireError(
      'wire_unauthorized',
      'The API key names no session: send the session id as x-api-key or as a bearer token',
    )
  }

  /**
   * Closes a session and takes its samples out: once, whoever else asks
   * meanwhile. Throws as `get`; after another error it may be tried again.
   */
  async finish(id: SessionId, options: LinearizeOptions): Promise<FinishedSession> {
    const session = this.get(id)
    if (this.#ending.has(id)) throw sessionFinished()
    this.#ending.add(id)
    try {
      await session.close()
      const { samples, ledger } = session.linearize(options)
      this.#forget(id)
      return { samples, ledger, counts: session.counters.toJSON(), drifts: session.drifts }
    } finally {
      this.#ending.delete(id)
    }
  }

  /** Closes a session and throws its turns away. Unknown ids, and sessions that are being finished, are ignored. */
  async drop(id: SessionId): Promise<void> {
    const session = this.#sessions.get(id)
    if (session === undefined || this.#ending.has(id)) return
    this.#ending.add(id)
    await session.close({ graceMs: 0 })
    this.#forget(id)
    this.#ending.delete(id)
  }

  /** Open sessions and the turns that are being sampled for them. */
  status(): { readonly openSessions: number; readonly inFlightTurns: number } {
    const sessions = [...this.#sessions.values()]
    return {
      openSessions: sessions.length,
      inFlightTurns: sessions.reduce((total, session) => total + session.inFlightTurns, 0),
    }
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close({ graceMs: 0 })))
    for (const id of [...this.#sessions.keys()]) this.#forget(id)
  }

  #forget(id: string): void {
    this.#sessions.delete(id)
    this.#ended.add(id)
    const [oldest] = this.#ended
    if (this.#ended.size > this.#rememberedSessions && oldest !== undefined) this.#ended.delete(oldest)
  }
}

function sessionFinished(): WireError {
  return new WireError('wire_session_closed', 'This session is finished: its attempt has ended')
}
