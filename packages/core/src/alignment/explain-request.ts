import { excerpt, type Message } from '@agentrl/spec'
import { type Conversation, classifyDeparture, echoDifference } from './classify-departure.ts'
import type { TokenDrift } from './classify-tokens.ts'
import type { Departure } from './drift-causes.ts'
import { type MessagesEqual, messageText } from './message-equality.ts'
import { type BranchRole, type MessageNode, type Path, pathTo } from './message-tree.ts'

/** How a request relates to what a session holds. */
export interface Explanation {
  /** Why the request opens a branch; null: it is the first of its kind, or goes on where a turn ended. */
  readonly departure: Departure | null
  /** What the client changed in the reply that it sends back for the first time, and inheriting makes harmless. */
  readonly absorbed: Departure | null
  /** Where the prompt does not repeat the ids of the turn that it goes on from; null: nowhere. */
  readonly tokenDrift: TokenDrift | null
}

/** The end of a conversation that a session holds. */
export interface HeldReply {
  readonly head: string
  readonly node: MessageNode
}

/** Where a request stands in the tree of its head. */
export interface RequestPlace {
  readonly role: BranchRole
  /** Null: nothing was recorded under this head. */
  readonly path: Path | null
  /** The turn that it goes on from. */
  readonly inherited: Path | null
  /** The reply that was recorded last in this role. */
  readonly latestReply: HeldReply | undefined
  readonly isEqual: MessagesEqual
}

/** Why a request opens a branch; null if it opens none, or the first of its role. */
export function explainDeparture({ head, messages }: Conversation, place: RequestPlace): Departure | null {
  const { role, path, inherited, latestReply, isEqual } = place
  const lastReply = path?.node.children.findLast(({ turn }) => turn !== null)
  if (path?.depth === messages.length && lastReply !== undefined) {
    return { cause: 'resend', where: `messages[${path.depth}]`, held: excerptOf(lastReply.message), found: '' }
  }
  const isFork = path !== null && path.node.children.length > 0
  if (inherited !== null && !isFork) return null
  if (role !== 'main' && role !== inherited?.node.role) {
    return { cause: role, where: 'messages[0]', held: '', found: excerptOf(messages.at(-1)) }
  }
  const held = isFork && path.depth > 0 ? { head, node: latestBelow(path.node) } : latestReply
  if (held === undefined) return null
  const heldMessages = pathTo(held.node).flatMap(({ message }) => message ?? [])
  return classifyDeparture({ head: held.head, messages: heldMessages }, { head, messages }, { isEqual })
}

/** What a client changed in a reply: compared the first time that it comes back. */
export function explainEcho({ node, depth }: Path, messages: readonly Message[]): Departure | null {
  const echo = messages[depth - 1]
  if (node.children.length > 0 || node.message?.role !== 'assistant' || echo?.role !== 'assistant') return null
  return echoDifference(node.message, echo, `messages[${depth - 1}]`)
}

function latestBelow(node: MessageNode): MessageNode {
  let latest = node
  for (let next = latest.children.at(-1); next !== undefined; next = latest.children.at(-1)) latest = next
  return latest
}

function excerptOf(message: Message | null | undefined): string {
  return message == null ? '' : excerpt(messageText(message), 80)
}
