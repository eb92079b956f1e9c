import type { Bucket, Message } from '@agentrl/spec'
import { type MessagesEqual, messagesIdentical } from './message-equality.ts'
import type { StoredTurn } from './stored-turn.ts'

/**
 * The conversations of one session as a tree: a node is a message, a path from
 * the root is a conversation, a leaf is where one ended.
 *
 * A node is *generated* when the model sampled its message in this session: it
 * holds the turn. All others only route: what the client sent, including
 * assistant messages that we never sampled.
 */
export interface MessageNode {
  readonly parent: MessageNode | null
  readonly children: MessageNode[]
  /** Null for the root, and for a generated node whose reply had no message. */
  message: Message | null
  /** The message as a client sent it back, where that is spelled otherwise: it will be sent so again. Else null. */
  echo: Message | null
  turn: StoredTurn | null
  role: BranchRole
  /** The bucket of the turn's tokens, where something other than alignment keeps them from training; else null. */
  untrained: UntrainedReason | null
}

/** Why a whole turn is not trained, decided by whoever records it. */
export type UntrainedReason = Extract<Bucket, 'branch_policy' | 'disconnected' | 'engine_aborted' | 'ill_formed_policy'>

/** What a branch is for. */
export type BranchRole = 'main' | 'sub_agent' | 'compaction' | 'auxiliary'

export function createRoot(): MessageNode {
  return { parent: null, children: [], message: null, echo: null, turn: null, role: 'main', untrained: null }
}

export function addChild(
  parent: MessageNode,
  fields: Pick<MessageNode, 'message' | 'turn' | 'role' | 'untrained'>,
): MessageNode {
  const child: MessageNode = { parent, children: [], echo: null, ...fields }
  parent.children.push(child)
  return child
}

/** Where a list of messages leads in a tree. */
export interface Path {
  /** The deepest node on whose path the messages stand. */
  readonly node: MessageNode
  /** How many messages it takes. */
  readonly depth: number
}

/** The deepest node on whose path the messages stand: the first such node of each parent, as slime does. */
export function findFirst(root: MessageNode, messages: readonly Message[], isEqual: MessagesEqual): Path {
  let node = root
  let depth = 0
  for (const message of messages) {
    const next = node.children.find((child) => child.message !== null && isEqual(child.message, message))
    if (next === undefined) break
    node = next
    depth += 1
  }
  return { node, depth }
}

/**
 * The deepest node on whose path the messages stand. Replies that say the same
 * are several nodes: all their paths are followed, and of those that lead
 * equally deep the one whose reply was sampled last is taken, as that is the
 * reply that a client holds.
 */
export function findDeepest(root: MessageNode, messages: readonly Message[], isEqual: MessagesEqual): Path {
  let frontier: readonly MessageNode[] = [root]
  let depth = 0
  for (const message of messages) {
    const next = frontier.flatMap((node) => node.children.filter((child) => isNodeOf(child, message, isEqual)))
    if (next.length === 0) break
    frontier = next
    depth += 1
  }
  return { node: frontier.at(-1) ?? root, depth }
}

function isNodeOf(node: MessageNode, message: Message, isEqual: MessagesEqual): boolean {
  if (node.message === null) return false
  if (node.echo !== null && messagesIdentical(node.echo, message)) return true
  return isEqual(node.message, message)
}

/** The nearest generated node of a path, from its end up; null if there is none. */
export function lastGenerated(path: Path): Path | null {
  let { node, depth } = path
  while (node.turn === null && node.parent !== null) {
    node = node.parent
    depth -= 1
  }
  return node.turn === null ? null : { node, depth }
}

/** Every node below a root, parents first, branches in the order in which they were opened. */
export function* nodesBelow(root: MessageNode): Generator<MessageNode> {
  const pending: MessageNode[] = [root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    for (let index = node.children.length - 1; index >= 0; index -= 1) pending.push(node.children[index] as MessageNode)
  }
}

/** The nodes from the root down to a node, the root left out. */
export function pathTo(node: MessageNode): MessageNode[] {
  const path: MessageNode[] = []
  for (let step = node; step.parent !== null; step = step.parent) path.push(step)
  return path.reverse()
}
