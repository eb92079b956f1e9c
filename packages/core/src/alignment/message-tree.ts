import type { Bucket, Message, Turn } from '@agentrl/spec'
import type { MessagesEqual } from './message-equality.ts'

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
  turn: Turn | null
  readonly role: BranchRole
  /** The bucket of the turn's tokens, where something other than alignment keeps them from training; else null. */
  readonly untrained: UntrainedReason | null
}

/** Why a whole turn is not trained, decided by whoever records it. */
export type UntrainedReason = Extract<Bucket, 'branch_policy' | 'disconnected' | 'engine_aborted' | 'ill_formed_policy'>

/** What a branch is for: decides whether it is trained. */
export type BranchRole = 'main' | 'sub_agent' | 'compaction' | 'auxiliary'

export function createRoot(): MessageNode {
  return { parent: null, children: [], message: null, turn: null, role: 'main', untrained: null }
}

export function addChild(
  parent: MessageNode,
  fields: Pick<MessageNode, 'message' | 'turn' | 'role' | 'untrained'>,
): MessageNode {
  const child: MessageNode = { parent, children: [], ...fields }
  parent.children.push(child)
  return child
}

/** The deepest node on whose path the messages stand, and how many of them it takes. */
export function findDeepest(
  root: MessageNode,
  messages: readonly Message[],
  isEqual: MessagesEqual,
): { node: MessageNode; depth: number } {
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

/** The leaves below a node, in the order in which their branches were opened. */
export function* leavesOf(root: MessageNode): Generator<MessageNode> {
  const pending: MessageNode[] = [root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.children.length === 0) yield node
    for (let index = node.children.length - 1; index >= 0; index -= 1) pending.push(node.children[index] as MessageNode)
  }
}

/** The generated nodes from the root down to a node. */
export function generatedPath(node: MessageNode): MessageNode[] {
  const path: MessageNode[] = []
  for (let step: MessageNode | null = node; step !== null; step = step.parent) if (step.turn !== null) path.push(step)
  return path.reverse()
}
