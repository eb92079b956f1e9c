import { type BranchPolicies, defaultBranchPolicies } from './branch-policy.ts'
import type { MessageNode, UntrainedReason } from './message-tree.ts'
import type { StoredTurn } from './stored-turn.ts'

/**
 * The branches of a session that give samples.
 *
 *   a₁* ─ tool ─ a₂* ─ user ─ a₃°          * to be trained   ° not
 *           └─── a₄*
 *
 *   branches: [a₁ a₂], [a₁ a₄]
 *
 * A branch ends in a turn to be trained with none below it. What hangs below
 * its end stands in no sample, what lies on its way stands as context.
 */
export interface Branch {
  /** Sampled turns from the root down. */
  readonly nodes: readonly GeneratedNode[]
}

/** A generated node, with what policies make of it. */
export interface GeneratedNode {
  readonly message: MessageNode['message']
  readonly turn: StoredTurn
  readonly untrained: UntrainedReason | null
}

interface Visited {
  readonly node: MessageNode
  /** The nearest generated node above, or this one. */
  readonly generated: PathNode | null
  readonly isDropped: boolean
}

interface PathNode extends GeneratedNode {
  readonly above: PathNode | null
  hasTrainableBelow: boolean
}

/** Branches in the order in which they were opened, and every generated node. Linear in the nodes and the branches' lengths. */
export function findBranches(
  roots: readonly MessageNode[],
  overrides: Partial<BranchPolicies> = {},
): { branches: Branch[]; nodes: GeneratedNode[] } {
  const policies = { ...defaultBranchPolicies, ...overrides }
  const nodes: PathNode[] = []
  const pending: Visited[] = roots.map((node) => ({ node, generated: null, isDropped: false })).reverse()
  for (let visited = pending.pop(); visited !== undefined; visited = pending.pop()) {
    const { node, generated, isDropped } = visit(visited, policies)
    if (generated !== null && generated !== visited.generated) nodes.push(generated)
    for (const child of [...node.children].reverse()) pending.push({ node: child, generated, isDropped })
  }
  // Parents come before what is below them: backwards, each node knows of all below it.
  for (const node of [...nodes].reverse()) {
    if (node.above !== null && (node.hasTrainableBelow || isTrainable(node))) node.above.hasTrainableBelow = true
  }
  const ends = nodes.filter((node) => isTrainable(node) && !node.hasTrainableBelow)
  return { branches: ends.map((end) => ({ nodes: pathFrom(end) })), nodes }
}

function visit({ node, generated, isDropped }: Visited, policies: BranchPolicies): Visited {
  if (node.turn === null) return { node, generated, isDropped }
  const policy = policies[node.role]
  const isDroppedHere = isDropped || policy === 'drop'
  const isLeftOut = isDroppedHere || policy === 'context'
  const untrained = node.untrained ?? (isLeftOut ? 'branch_policy' : null)
  const here = { message: node.message, turn: node.turn, untrained, above: generated, hasTrainableBelow: false }
  return { node, generated: here, isDropped: isDroppedHere }
}

function isTrainable({ untrained, turn }: GeneratedNode): boolean {
  return untrained === null && turn.outputLogprobs !== null
}

function pathFrom(end: PathNode): readonly GeneratedNode[] {
  const path: GeneratedNode[] = []
  for (let node: PathNode | null = end; node !== null; node = node.above) path.push(node)
  return path.reverse()
}
