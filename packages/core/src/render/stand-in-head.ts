import type { Message, ToolDefinition } from '@agentrl/spec'
import {
  type RenderStandIn,
  renderOrNull,
  replySentinel,
  standInCall,
  standInQuestion,
  standInReplies,
  standInResult,
  standInTools,
} from './stand-in.ts'

/**
 * What has to stand before the question of a stand-in conversation.
 *
 * Nothing, nearly always: what a template writes behind a reply depends on the
 * reply and on what follows it. But a template may read a switch out of the
 * system message, or number the calls of the whole conversation. Both are found
 * by trying: the same short ending behind a long and a short beginning. Once
 * for each head (tools and system message), which is bounded and shared by all
 * conversations that have it.
 */
export interface StandInHead {
  readonly system: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  /** What follows a reply depends on the messages before it. */
  readonly countsHistory: boolean
}

const maxHeads = 32
/** Heads that are longer are tried anew each time: what is kept has a bound. */
const maxKeyLength = 1024 * 1024

/** Short endings of conversations: a reply, and what comes after it. */
const endings: readonly {
  readonly reply: Message
  readonly added: readonly Message[]
  readonly needsTools: boolean
}[] = (() => {
  const text = standInReplies({ role: 'assistant', content: '' }, { hasReasoning: false })[0] as Message
  const call = standInReplies(standInCall(9), { hasReasoning: false })[0] as Message
  const user: Message = { role: 'user', content: 'text' }
  return [
    { reply: text, added: [user], needsTools: false },
    { reply: text, added: [], needsTools: false },
    { reply: call, added: [standInResult(9)], needsTools: true },
    { reply: call, added: [standInResult(9), user], needsTools: true },
  ]
})()

export function createHeadChooser(
  render: RenderStandIn,
): (head: { readonly system: Message | null; readonly tools: readonly ToolDefinition[] }) => StandInHead {
  const plain = new Map<boolean, StandInHead>()
  const chosen = new Map<string, StandInHead>()
  const toolKeys = new WeakMap<readonly ToolDefinition[], string>()

  function plainHead(hasTools: boolean): StandInHead {
    const known = plain.get(hasTools)
    if (known !== undefined) return known
    const head = { system: [], tools: hasTools ? standInTools : [], countsHistory: false }
    const earlier = hasTools ? [standInCall(1), standInResult(1)] : []
    const text: Message = { role: 'assistant', content: 'text' }
    const longer = [...earlier, text, { role: 'user', content: 'text' } as const]
    const found = { ...head, countsHistory: !endsAlike(head, longer, head, []) }
    plain.set(hasTools, found)
    return found
  }

  /** Whether every ending that both beginnings allow is written alike behind them. */
  function endsAlike(
    left: StandInHead,
    leftHistory: readonly Message[],
    right: StandInHead,
    rightHistory: readonly Message[],
  ): boolean {
    return endings.every(({ reply, added, needsTools }) => {
      if (needsTools && left.tools.length === 0) return true
      const tailBehind = (head: StandInHead, history: readonly Message[]): string | null => {
        const standIn = [...head.system, standInQuestion, ...history, reply]
        const text = renderOrNull(render, { standIn, added, tools: head.tools })?.text
        const start = text?.lastIndexOf(replySentinel) ?? -1
        return text === undefined || start < 0 ? null : text.slice(start)
      }
      const leftTail = tailBehind(left, leftHistory)
      const rightTail = tailBehind(right, rightHistory)
      return leftTail === null || rightTail === null || leftTail === rightTail
    })
  }

  function keyOfTools(tools: readonly ToolDefinition[]): string {
    const known = toolKeys.get(tools)
    if (known !== undefined) return known
    const key = JSON.stringify(tools)
    toolKeys.set(tools, key)
    return key
  }

  return ({ system, tools }) => {
    const shortHead = plainHead(tools.length > 0)
    if (system === null && tools.length === 0) return shortHead
    const key = `${keyOfTools(tools)}${system === null ? '' : JSON.stringify(system)}`
    const known = chosen.get(key)
    if (known !== undefined) return known
    const wholeHead = { ...shortHead, system: system === null ? [] : [system], tools }
    const head = endsAlike(wholeHead, [], shortHead, []) ? shortHead : wholeHead
    if (key.length > maxKeyLength) return head
    const [oldest] = chosen.keys()
    if (chosen.size >= maxHeads && oldest !== undefined) chosen.delete(oldest)
    chosen.set(key, head)
    return head
  }
}
