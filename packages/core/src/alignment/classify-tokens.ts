import type { Message } from '@agentrl/spec'
import type { Departure } from './drift-causes.ts'
import type { StoredTurn } from './stored-turn.ts'
import { textDifference } from './text-difference.ts'

/**
 * A prompt that repeats the messages of a turn, but not its tokens.
 *
 *   turn    ─── prompt ───┬──── output ────┐
 *   prompt  ──────────────┴────────x~~~~~~~~~~~~
 *                         │        └ tokenStart
 *                         └ from here on (or a little before tokenStart, if that is earlier)
 *                           both are decoded, to see what the difference says
 */
export interface TokenDrift {
  /** Position of the first id that differs. */
  readonly tokenStart: number
  /** Ids from where the two are worth comparing as text. */
  readonly heldIds: Int32Array
  readonly foundIds: Int32Array
  /** Only the id that ended the output is missing. */
  readonly isStopToken: boolean
}

const tokensBefore = 16
const tokensAfter = 2048
/** The last characters of a window may be parts of one that it cuts. */
const cutCharacters = 4

/** Null: the prompt repeats prompt and output of the turn whole. Linear in them. */
export function findTokenDrift(turn: StoredTurn, promptIds: Int32Array): TokenDrift | null {
  const tokenStart = turn.commonTokens(promptIds)
  if (tokenStart === turn.length) return null
  const from = Math.min(turn.promptLength, Math.max(0, tokenStart - tokensBefore))
  const count = tokenStart - from + tokensAfter
  return {
    tokenStart,
    heldIds: turn.idsFrom(from, count),
    foundIds: promptIds.slice(from, from + count),
    isStopToken: tokenStart === turn.length - 1 && turn.finishReason === 'stop',
  }
}

/** The cause of a token drift. `held` and `found` are its ids, decoded; `replies` are the assistant messages before it. */
export function classifyTokens(
  drift: TokenDrift,
  texts: { readonly held: string; readonly found: string },
  replies: readonly Message[],
): Departure {
  const { held, found } = texts
  const place = { where: `tokens[${drift.tokenStart}]`, ...textDifference(held, found) }
  if (drift.isStopToken) return { cause: 'stop_token', ...place }
  const shared = Math.max(0, Math.min(held.length, found.length) - cutCharacters)
  if (held.slice(0, shared) === found.slice(0, shared)) {
    return {
      cause: 'retokenization',
      where: place.where,
      held: spellIds(drift, 'heldIds'),
      found: spellIds(drift, 'foundIds'),
    }
  }
  const wholeReplies = replies.flatMap((message) => (message.role === 'assistant' ? [message] : []))
  const isStripped = wholeReplies.some(({ reasoning_content: reasoning = '' }) => {
    const opening = reasoning.trim().slice(0, 40)
    return opening !== '' && held.includes(opening) && !found.includes(opening)
  })
  if (isStripped) return { cause: 'reasoning_stripped', ...place }
  const names = wholeReplies.flatMap(({ tool_calls: calls = [] }) => calls.map(({ function: call }) => call.name))
  const before = held.slice(0, commonChars(held, found))
  if (names.some((name) => before.includes(name))) return { cause: 'arguments_reserialized', ...place }
  return { cause: 'template_rewrite', ...place }
}

function commonChars(left: string, right: string): number {
  let index = 0
  while (index < left.length && index < right.length && left[index] === right[index]) index += 1
  return index
}

/** The text is the same: what differs is the split. */
function spellIds(drift: TokenDrift, side: 'heldIds' | 'foundIds'): string {
  let common = 0
  while (common < drift.heldIds.length && drift.heldIds[common] === drift.foundIds[common]) common += 1
  return [...drift[side].slice(common, common + 6)].join(' ')
}
