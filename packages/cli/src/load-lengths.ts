import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { requireOneHistoryReasoning } from '@agentrl/core'
import { ConfigError, excerpt } from '@agentrl/spec'

/** Samples as a micro-batch plan sees them; entry i of both is sample i. */
export interface SampleLengths {
  readonly lengths: readonly number[]
  readonly rolloutIds: readonly (string | number)[]
}

/**
 * Lengths from a file, one line at a time:
 *
 *     samples.jsonl of a run   objects with `tokens` (an array) or `length` (a number), and `rollout_id`
 *     plain text               whole numbers, apart by spaces, commas or new lines
 *     a JSON array             of whole numbers, on one line
 *
 * A sample without a `rollout_id` is a rollout of its own. Throws `config_invalid`,
 * and `trajectory_mixed_history` for samples that can't be in one batch.
 */
export async function loadLengths(path: string, signal: AbortSignal): Promise<SampleLengths> {
  const lengths: number[] = []
  const rolloutIds: (string | number)[] = []
  const described: Described[] = []
  let lineNumber = 0
  try {
    for await (const line of createInterface({ input: createReadStream(path, { signal }), crlfDelay: Infinity })) {
      lineNumber += 1
      for (const { length, rolloutId, metadata } of readLine(line)) {
        if (metadata !== null) described.push({ id: `the sample in line ${lineNumber}`, metadata })
        rolloutIds.push(rolloutId ?? `line ${lineNumber}, number ${lengths.length}`)
        lengths.push(length)
      }
    }
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const where = lineNumber === 0 ? path : `${path}, line ${lineNumber}`
    throw new ConfigError('config_invalid', `${where}: ${(cause as Error).message}`, { cause })
  }
  if (lengths.length === 0) throw new ConfigError('config_invalid', `${path} holds no lengths: check --lengths`)
  requireOneHistoryReasoning(described)
  return { lengths, rolloutIds }
}

interface Described {
  readonly id: string
  readonly metadata: Readonly<Record<string, unknown>>
}

interface ReadSample {
  readonly length: number
  readonly rolloutId: string | number | null
  readonly metadata: Described['metadata'] | null
}

function readLine(line: string): ReadSample[] {
  const text = line.trim()
  if (text === '') return []
  if (text.startsWith('{')) return [readSample(JSON.parse(text) as object)]
  const words = text.startsWith('[')
    ? (JSON.parse(text) as unknown[])
    : text.split(/[\s,]+/).filter((word) => word !== '')
  return words.map((word) => ({ length: readLength(word), rolloutId: null, metadata: null }))
}

function readSample(row: { tokens?: unknown; length?: unknown; rollout_id?: unknown; metadata?: unknown }): ReadSample {
  const { tokens, length, rollout_id: rolloutId, metadata } = row
  const isId = typeof rolloutId === 'string' || typeof rolloutId === 'number'
  return {
    length: readLength(Array.isArray(tokens) ? tokens.length : length),
    rolloutId: isId ? rolloutId : null,
    metadata: typeof metadata === 'object' && metadata !== null ? { ...metadata } : null,
  }
}

function readLength(value: unknown): number {
  const length = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof length === 'number' && Number.isSafeInteger(length) && length >= 1) return length
  throw new ConfigError(
    'config_invalid',
    `a length is a whole number of at least 1, found ${excerpt(JSON.stringify(value) ?? 'nothing')}`,
  )
}
