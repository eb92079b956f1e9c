import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasSharedData, listSharedFiles, readSharedRows } from '../../../../../tests/shared-data.ts'
import { reconcile } from '../../alignment/ledger.ts'
import { smallTokenizer } from '../../testing/small-tokenizer.ts'
import { trainedPairsProblem } from '../../testing/trained-pairs-problem.ts'
import type { SessionOptions } from '../session-options.ts'
import type { RecordedRequest } from './recorded-request.ts'
import { replayRecording } from './replay-recording.ts'

/**
 * Real clients, recorded request by request, against the real adapter:
 *
 * - What a client sends back is found again, whatever it did to its spelling:
 *   each turn goes on from the sampled ids, and a branch is one sample.
 * - Every sampled token is trained as the engine returned it.
 * - What a client really changes has a name.
 *
 * The files in `__fixtures__` are parts of recordings made on 2026-11-29: tools
 * that no reply calls are left out of the bodies. The Responses protocol is not
 * spoken yet: recordings of it are left out by name.
 */
const tokenizer = smallTokenizer()

async function outcomeOf(requests: readonly RecordedRequest[], session: SessionOptions = {}) {
  const replay = await replayRecording(requests, { tokenizer, session })
  const { samples, ledger } = replay.session.linearize({ reward: 1 })
  const counts = Object.entries(replay.session.counters.toJSON())
  return {
    ...replay,
    samples,
    ledger: reconcile(ledger),
    branches: replay.calls.filter((call) => call.inheritsFrom === null).length,
    drifts: Object.fromEntries(
      counts.flatMap(([code, count]) => (code.startsWith('drift.') ? [[code.slice('drift.'.length), count]] : [])),
    ),
    tokens: replay.calls.reduce((total, call) => total + call.outputIds.length, 0),
  }
}

async function expectEveryTokenTrained(requests: readonly RecordedRequest[], expected: Expected): Promise<void> {
  const { samples, ledger, calls, branches, drifts, tokens } = await outcomeOf(requests)
  expect(calls.map((call) => call.status)).toEqual(calls.map(() => 200))
  expect(calls.filter((call) => !call.isNonCanonical)).toEqual([])
  expect({ branches, samples: samples.length, drifts }).toEqual({
    branches: expected.branches,
    samples: expected.branches,
    drifts: expected.drifts,
  })
  expect(ledger).toMatchObject({ sampledTokens: tokens, contextRepeatPositions: 0, lostCalls: 0 })
  expect(ledger.buckets.trained).toBe(tokens)
  expect(trainedPairsProblem(samples, calls)).toBeNull()
}

interface Expected {
  readonly branches: number
  readonly drifts: Readonly<Record<string, number>>
}

const plain: Expected = { branches: 1, drifts: {} }
const withTitle: Expected = { branches: 2, drifts: { auxiliary: 1 } }
const withSubAgent: Expected = { branches: 2, drifts: { sub_agent: 1 } }
const withBoth: Expected = { branches: 3, drifts: { auxiliary: 1, sub_agent: 1 } }

/** Runs without faults: the branches that each opens, and why. */
const faultless: Readonly<Record<string, Expected>> = {
  'claude-code-2.1.197/agent': withBoth,
  'claude-code-2.1.197/lean': plain,
  'claude-code-2.1.197/long': withTitle,
  'claude-code-2.1.197/main': withTitle,
  'claude-code-2.1.197/wsonly': withTitle,
  'claude-code-2.1.332/agent': withSubAgent,
  'claude-code-2.1.332/lean': plain,
  'claude-code-2.1.332/long': plain,
  'claude-code-2.1.332/main': plain,
  'claude-code-2.1.332/wsonly': plain,
  'codebuddy-2.117.0/agent': withSubAgent,
  'codebuddy-2.117.0/lean': plain,
  'codebuddy-2.117.0/long': plain,
  'codebuddy-2.117.0/main': plain,
  'codebuddy-2.117.0/wsonly': plain,
  'opencode-1.18.33/agent': withBoth,
  'opencode-1.18.33/anthropic': withTitle,
  'opencode-1.18.33/lean': plain,
  'opencode-1.18.33/long': withTitle,
  'opencode-1.18.33/main': withTitle,
  'opencode-1.18.33/wsonly': withTitle,
  'pi-0.73.1/anthropic': plain,
  'pi-0.73.1/long': plain,
  'pi-0.73.1/main': plain,
  'pi-0.73.1/wsonly': plain,
  'qwen-code-0.15.10/main': plain,
  'qwen-code-0.24.4/agent': withSubAgent,
  'qwen-code-0.24.4/anthropic': plain,
  'qwen-code-0.24.4/lean': plain,
  'qwen-code-0.24.4/long': plain,
  'qwen-code-0.24.4/main': plain,
  'qwen-code-0.24.4/wsonly': plain,
}

/** Runs in which something goes wrong: what the client did about it, and calls without a reply. */
const faulty: Readonly<Record<string, { readonly drifts: Expected['drifts']; readonly lostCalls: number }>> = {
  'claude-code-2.1.197/badargs': { drifts: { auxiliary: 1, edited_history: 2 }, lostCalls: 0 },
  'claude-code-2.1.197/empty': { drifts: { auxiliary: 1, dropped_reply: 1 }, lostCalls: 0 },
  'claude-code-2.1.332/badargs': { drifts: { edited_history: 2 }, lostCalls: 0 },
  'claude-code-2.1.332/empty': { drifts: { dropped_reply: 1 }, lostCalls: 0 },
  'claude-code-2.1.332/err429': { drifts: {}, lostCalls: 9 },
  'claude-code-2.1.332/thinkonly': { drifts: { dropped_reply: 1 }, lostCalls: 0 },
  'codebuddy-2.117.0/badargs': { drifts: { dropped_reply: 1, edited_history: 1, resend: 1 }, lostCalls: 0 },
  'codebuddy-2.117.0/empty': { drifts: {}, lostCalls: 0 },
  'codebuddy-2.117.0/err429': { drifts: {}, lostCalls: 1 },
  'codebuddy-2.117.0/thinkonly': { drifts: {}, lostCalls: 0 },
  'opencode-1.18.33/badargs': { drifts: { auxiliary: 1, edited_history: 2, renamed_call: 1 }, lostCalls: 0 },
  'opencode-1.18.33/empty': { drifts: { auxiliary: 1 }, lostCalls: 0 },
  'opencode-1.18.33/err429': { drifts: { auxiliary: 1 }, lostCalls: 0 },
  'opencode-1.18.33/thinkonly': { drifts: {}, lostCalls: 0 },
  'pi-0.73.1/badargs': { drifts: { edited_history: 2 }, lostCalls: 0 },
  'pi-0.73.1/empty': { drifts: {}, lostCalls: 0 },
  'pi-0.73.1/err429': { drifts: {}, lostCalls: 12 },
  'pi-0.73.1/thinkonly': { drifts: {}, lostCalls: 0 },
  'qwen-code-0.15.10/badargs': { drifts: { resend: 1 }, lostCalls: 0 },
  'qwen-code-0.15.10/empty': { drifts: {}, lostCalls: 0 },
  'qwen-code-0.24.4/badargs': { drifts: { edited_history: 1, resend: 1 }, lostCalls: 0 },
  'qwen-code-0.24.4/empty': { drifts: { resend: 1, sub_agent: 1 }, lostCalls: 0 },
  'qwen-code-0.24.4/err429': { drifts: {}, lostCalls: 20 },
  'qwen-code-0.24.4/thinkonly': { drifts: { sub_agent: 1 }, lostCalls: 0 },
}

const isResponses = (name: string): boolean => name.startsWith('codex-') || name.endsWith('/responses')

const fixtures = new URL('./__fixtures__/', import.meta.url)
const excerpts = readdirSync(fixtures).map((file) => ({
  name: file.replace(/-([a-z]+)\.jsonl$/, '/$1'),
  requests: readFileSync(new URL(file, fixtures), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedRequest),
}))

describe('a run of a real client', () => {
  test.each(excerpts)('$name, in part: one sample a branch, every token trained', async ({ name, requests }) => {
    await expectEveryTokenTrained(requests, faultless[name] as Expected)
  })

  test.skipIf(!hasSharedData('recordings'))(
    'every recording but those of the Responses protocol has its row here',
    () => {
      const recorded = listSharedFiles('recordings', '.jsonl').map((path) =>
        path.slice('recordings/'.length, -'.jsonl'.length),
      )
      const rows = [...Object.keys(faultless), ...Object.keys(faulty)]
      expect(recorded.filter((name) => !isResponses(name))).toEqual(rows.sort())
    },
  )

  test.skipIf(!hasSharedData('recordings')).each(Object.entries(faultless))(
    '%s: one sample a branch, every token trained',
    async (name, expected) => {
      await expectEveryTokenTrained(readSharedRows(`recordings/${name}.jsonl`), expected)
    },
  )
})

describe('a run of a real client in which something goes wrong', () => {
  test.skipIf(!hasSharedData('recordings')).each(Object.entries(faulty))(
    '%s: reconciles, every token is trained once, each departure has its name',
    async (name, expected) => {
      const { samples, ledger, calls, drifts, tokens } = await outcomeOf(readSharedRows(`recordings/${name}.jsonl`))
      expect(drifts).toEqual(expected.drifts)
      expect(ledger).toMatchObject({ sampledTokens: tokens, lostCalls: expected.lostCalls })
      expect(ledger.buckets.trained).toBe(tokens)
      expect(trainedPairsProblem(samples, calls)).toBeNull()
    },
  )
})

describe('the role of a branch', () => {
  const agentRun = excerpts.find(({ name }) => name === 'claude-code-2.1.332/agent')?.requests ?? []

  test.each(['context', 'drop'] as const)(
    'a sub-agent that is under the policy %s is in its bucket',
    async (policy) => {
      const { samples, ledger, calls } = await outcomeOf(agentRun, { branchPolicies: { sub_agent: policy } })
      const subAgent = calls.filter(({ request }) => 'x-claude-code-agent-id' in request.headers)
      expect(subAgent).toHaveLength(1)
      expect(samples).toHaveLength(1)
      expect(ledger.buckets.branch_policy).toBe(subAgent[0]?.outputIds.length)
      expect(ledger.buckets.trained).toBe(ledger.sampledTokens - ledger.buckets.branch_policy)
    },
  )

  test('a title that came before the task is auxiliary once the task shows itself', async () => {
    const titled = excerpts.find(({ name }) => name === 'opencode-1.18.33/main')?.requests ?? []
    const { samples, ledger, calls } = await outcomeOf(titled, { branchPolicies: { auxiliary: 'context' } })
    expect(samples).toHaveLength(1)
    expect(ledger.buckets.branch_policy).toBe(calls[0]?.outputIds.length)
  })
})
