import { excerpt } from '@agentrl/spec'

/**
 * The reward of an attempt, out of the files that its verifier left.
 *
 * reward.json comes before reward.txt, as in Harbor since 0.13, and one that
 * can't be read is not replaced by the other. A missing or unreadable reward is
 * a failure of the grader, not a reward of 0. We depart from Harbor in one
 * point: `nan` and `inf`, which Python's float() takes, are unreadable, because
 * no trainer can use them.
 */
export type HarborReward =
  | {
      readonly kind: 'graded'
      readonly reward: number
      /** All rewards by name; `reward` is one of them. */
      readonly rewards: Readonly<Record<string, number>>
    }
  | {
      readonly kind: 'failed'
      readonly reason: 'missing' | 'empty' | 'unreadable' | 'timeout'
      /** One sentence, without a full stop. */
      readonly message: string
    }

const unreadable = (message: string): HarborReward => ({ kind: 'failed', reason: 'unreadable', message })

/** The numbers of Python's float(), without nan and inf; only tried on short texts, as it backtracks. */
const pythonFloat = /^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+(_\d+)*)?$/i

function readText(text: string): HarborReward {
  const trimmed = text.trim()
  if (trimmed === '') return { kind: 'failed', reason: 'empty', message: 'reward.txt is empty' }
  const reward = trimmed.length <= 400 && pythonFloat.test(trimmed) ? Number(trimmed.replaceAll('_', '')) : Number.NaN
  if (Number.isFinite(reward)) return { kind: 'graded', reward, rewards: { reward } }
  return unreadable(`reward.txt holds ${JSON.stringify(excerpt(trimmed))} where a finite number should be`)
}

function readJson(json: string): HarborReward {
  let raw: unknown
  try {
    raw = JSON.parse(json)
  } catch {
    return unreadable(`reward.json holds ${JSON.stringify(excerpt(json.trim()))}, which is not JSON`)
  }
  const fields = typeof raw === 'object' && raw !== null && !Array.isArray(raw) ? raw : { reward: raw }
  const entries: [string, unknown][] = Object.entries(fields)
  const rewards: Record<string, number> = {}
  for (const [name, value] of entries) {
    const reward = typeof value === 'boolean' ? Number(value) : value
    if (typeof reward !== 'number' || !Number.isFinite(reward)) {
      return unreadable(`reward.json holds ${excerpt(JSON.stringify(value))} as ${excerpt(name)}, not a finite number`)
    }
    rewards[name] = reward
  }
  const [only] = entries.length === 1 ? Object.values(rewards) : []
  const reward = rewards.reward ?? only
  if (reward !== undefined) return { kind: 'graded', reward, rewards }
  return unreadable('reward.json has no "reward" among its keys')
}

/** Reads the two files; null stands for a file that is not there. Throws nothing. */
export function readHarborReward({ json, text }: { json: string | null; text: string | null }): HarborReward {
  if (json !== null) return readJson(json)
  if (text !== null) return readText(text)
  return { kind: 'failed', reason: 'missing', message: 'the verifier wrote no reward file' }
}
