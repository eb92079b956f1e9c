import type { TurnHandle } from '../alignment/trajectory.ts'
import type { ChatReply } from './protocols/protocol.ts'

/** Replies that are kept for a client which lost the connection; the oldest go first. */
const maxReplies = 16

/**
 * Replies whose client was gone before it had them whole. Their turns are not
 * trained (bucket `disconnected`), unless the same request comes again and the
 * same reply is sent: to sample another one would be to choose between two.
 */
export class UndeliveredReplies {
  readonly #replies = new Map<TurnHandle, ChatReply>()

  /** Follows a reply on its way: if `signal` aborts before it is out, it is undelivered. */
  watch(handle: TurnHandle, reply: ChatReply, signal: AbortSignal): void {
    const lose = () => this.#lose(handle, reply)
    if (signal.aborted) lose()
    else signal.addEventListener('abort', lose, { once: true })
  }

  get isEmpty(): boolean {
    return this.#replies.size === 0
  }

  /** Takes out the undelivered reply among those of one request; null: all were delivered. */
  take(handles: readonly TurnHandle[]): { readonly handle: TurnHandle; readonly reply: ChatReply } | null {
    for (const handle of handles) {
      const reply = this.#replies.get(handle)
      if (reply === undefined) continue
      this.arrived(handle)
      return { handle, reply }
    }
    return null
  }

  /** The client shows that it has the reply: one that was let go of with the last byte can look lost. Whether it did. */
  arrived(handle: TurnHandle): boolean {
    this.#replies.delete(handle)
    if (handle.untrained !== 'disconnected') return false
    handle.untrained = null
    return true
  }

  #lose(handle: TurnHandle, reply: ChatReply): void {
    handle.untrained ??= 'disconnected'
    this.#replies.set(handle, reply)
    const [oldest] = this.#replies.keys()
    if (this.#replies.size > maxReplies && oldest !== undefined) this.#replies.delete(oldest)
  }
}
