import { mkdir, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { HistoryReasoning } from '@agentrl/core'
import { createAdapter } from '@agentrl/core/adapter'
import { createRenderer } from '@agentrl/core/render'
import { findHarness, harnesses } from '@agentrl/harnesses'
import { type AttemptResult, guardTraining, runRollouts } from '@agentrl/rollout'
import { sweepOrphans } from '@agentrl/sandbox'
import { ConfigError } from '@agentrl/spec'
import {
  type ReasoningFormatName,
  reasoningFormats,
  type ToolCallFormatName,
  toolCallFormats,
} from '@agentrl/tool-calls'
import { Command, Option } from 'commander'
import { chooseSandbox, sandboxNames } from '../choose-sandbox.ts'
import type { CommandContext } from '../command-context.ts'
import { loadEngine } from '../load-engine.ts'
import { loadModel } from '../load-model.ts'
import { loadTasks } from '../load-tasks.ts'
import { formatReport } from '../print-report.ts'
import { integerOption, numberOption, secondsOption } from '../read-option.ts'
import { plain } from '../table.ts'

interface RolloutFlags {
  readonly tasks: string
  readonly agent: string
  readonly engine: string
  readonly out: string
  readonly n: number
  readonly concurrency: number
  readonly tokenizer?: string
  readonly scripts?: string
  readonly sandbox?: string
  readonly agentProgram?: string
  readonly agentTimeout: number
  readonly maxContext: number
  readonly maxGeneration: number
  readonly turnCap: number
  readonly toolCallFormat: ToolCallFormatName
  readonly reasoningFormat: ReasoningFormatName
  readonly historyReasoning: HistoryReasoning
  readonly temperature: number
  readonly topP: number
  readonly topK: number
  readonly minP: number
  readonly frequencyPenalty: number
  readonly presencePenalty: number
  readonly repetitionPenalty: number
  readonly seed?: number
  readonly allowZeroGradient: boolean
  readonly allowOffPolicy: boolean
  readonly dp: number
  readonly maxTokensPerGpu: number
  readonly json: boolean
}

export function rolloutCommand(context: CommandContext): Command {
  return new Command('rollout')
    .description(
      'Runs n attempts at each task and writes training samples in which every sampled token is accounted for.',
    )
    .requiredOption('--tasks <dir>', 'a Harbor task, or a folder of them')
    .requiredOption('--engine <url>', 'an SGLang server, or "scripted" for the stand-in that plays --scripts')
    .requiredOption('--out <dir>', 'a new folder for samples.jsonl, attempts.jsonl, report.json, patches and traces')
    .option('--agent <name>', `one of: ${Object.keys(harnesses).join(', ')}`, 'mini')
    .option('--n <count>', 'attempts at each task', integerOption(1), 4)
    .option('--concurrency <count>', 'attempts at a time', integerOption(1), 4)
    .option('--tokenizer <dir>', "the model's folder: tokenizer.json, tokenizer_config.json, generation_config.json")
    .option('--scripts <file>', 'what the scripted engine plays')
    .addOption(
      new Option('--sandbox <driver>', 'where attempts run: bubblewrap, but local for the scripted engine').choices([
        ...sandboxNames,
      ]),
    )
    .option('--agent-program <path>', "the agent's program inside the sandbox; its name on PATH without it")
    .option('--agent-timeout <seconds>', "the agent's time for one attempt", secondsOption, 1_800_000)
    .option('--max-context <tokens>', 'prompt and reply together', integerOption(256), 32_768)
    .option('--max-generation <tokens>', 'one reply', integerOption(1), 8_192)
    .option('--turn-cap <count>', 'replies of one attempt', integerOption(1), 200)
    .addOption(
      new Option('--tool-call-format <name>', "how the model writes calls, as its engine's --tool-call-parser")
        .choices([...toolCallFormats])
        .default('hermes'),
    )
    .addOption(
      new Option('--reasoning-format <name>', "how it writes reasoning, as its engine's --reasoning-parser")
        .choices([...reasoningFormats])
        .default('qwen3'),
    )
    .addOption(
      new Option('--history-reasoning <policy>', 'earlier reasoning where the template rewrites it: as sampled, or not')
        .choices(['keep', 'template'])
        .default('keep'),
    )
    .optionsGroup('Sampling (a training run refuses what is not the trained policy):')
    .option('--temperature <number>', 'over 0 for training', numberOption(0, 10), 1)
    .option('--top-p <number>', '1 is off', numberOption(0, 1), 1)
    .option('--top-k <count>', '-1 is off', integerOption(-1), -1)
    .option('--min-p <number>', '0 is off', numberOption(0, 1), 0)
    .option('--frequency-penalty <number>', '0 is off', numberOption(-2, 2), 0)
    .option('--presence-penalty <number>', '0 is off', numberOption(-2, 2), 0)
    .option('--repetition-penalty <number>', '1 is off', numberOption(0, 2), 1)
    .option(
      '--seed <number>',
      'one seed for every attempt (which makes them equal); the stand-in seeds its scripts with it',
      integerOption(0),
    )
    .option('--allow-zero-gradient', 'run although no group can have a gradient', false)
    .option('--allow-off-policy', 'run although the sampled distribution is not the trained one', false)
    .optionsGroup('Report:')
    .option('--dp <count>', 'data-parallel ranks of the micro-batch plan', integerOption(1), 2)
    .option('--max-tokens-per-gpu <count>', 'cap of one micro-batch', integerOption(1), 16_384)
    .option('--json', 'print the report as JSON', false)
    .addHelpText(
      'after',
      `
Example:
  agentrl rollout --tasks ./tasks --agent claude_code --engine http://127.0.0.1:30000 \\
    --tokenizer ./Qwen3-Coder --tool-call-format qwen3_coder --n 8 --out runs/first`,
    )
    .action((flags: RolloutFlags) => rollout(flags, context))
}

async function rollout(flags: RolloutFlags, context: CommandContext): Promise<void> {
  const { output, signal } = context
  const progress = (line: string): void => output.err(`${line}\n`)
  const isScripted = flags.engine === 'scripted'
  guard(flags, isScripted)
  const harness = findHarness(flags.agent)
  const rows = await loadTasks(flags.tasks, context)
  const runDirectory = await newRunDirectory(flags.out)
  const model = await loadModel(flags.tokenizer, isScripted)
  await using engine = await loadEngine(
    { engine: flags.engine, scripts: flags.scripts, seed: flags.seed ?? 0, tokenizer: model.tokenizer },
    signal,
  )
  progress(`${rows.length} tasks × ${flags.n} attempts with ${harness.name} on ${engine.name}`)
  await using adapter = createAdapter({
    engine,
    tokenizer: model.tokenizer,
    renderer: createRenderer({ ...model, historyReasoning: flags.historyReasoning }),
    stopTokenIds: model.stopTokenIds,
    toolCallFormat: flags.toolCallFormat,
    reasoningFormat: flags.reasoningFormat,
  })
  const place = await chooseSandbox(
    { name: flags.sandbox, isScripted, harness, agentProgram: flags.agentProgram, runDirectory },
    adapter,
  )
  const swept = await sweepOrphans({ drivers: [place.driver] })
  if (swept.removed.length > 0) progress(`removed ${swept.removed.length} sandboxes that dead runs had left`)
  const report = await runRollouts(
    {
      rows,
      attemptsPerTask: flags.n,
      concurrency: flags.concurrency,
      runId: new Date()
        .toISOString()
        .replace(/[^0-9]/g, '')
        .slice(0, 14),
      runDirectory,
      harness,
      ...place,
      adapter,
      engine,
      tokenizer: model.tokenizer,
      model: 'policy',
      timeBudgetMs: flags.agentTimeout,
      session: {
        mode: 'train',
        sampling: samplingOf(flags, isScripted),
        maxContextTokens: flags.maxContext,
        maxGenerationTokens: flags.maxGeneration,
        turnCap: flags.turnCap,
      },
      onAttempt: (result, { done, total }) => progress(`[${done}/${total}] ${describeAttempt(result)}`),
      ...(flags.agentProgram === undefined ? {} : { agentProgram: flags.agentProgram }),
    },
    signal,
  )
  const text = formatReport(report, { dataParallel: flags.dp, maxTokensPerGpu: flags.maxTokensPerGpu })
  output.out(`${flags.json ? JSON.stringify(report, null, 2) : text}\n`)
  const isUseless = report.tasks.every((task) => task.rewards.every((reward) => reward === null))
  if (isUseless || report.ledgerProblem !== null) context.setExitCode(3)
}

function guard(flags: RolloutFlags, isScripted: boolean): void {
  guardTraining(
    {
      attemptsPerTask: flags.n,
      temperature: flags.temperature,
      topP: flags.topP,
      topK: flags.topK,
      minP: flags.minP,
      frequencyPenalty: flags.frequencyPenalty,
      presencePenalty: flags.presencePenalty,
      repetitionPenalty: flags.repetitionPenalty,
      // The stand-in draws another script for each attempt from one seed.
      sharedSeed: isScripted ? null : (flags.seed ?? null),
    },
    { allowZeroGradient: flags.allowZeroGradient, allowOffPolicy: flags.allowOffPolicy },
  )
}

function samplingOf(flags: RolloutFlags, isScripted: boolean) {
  return {
    temperature: flags.temperature,
    topP: flags.topP,
    topK: flags.topK,
    minP: flags.minP,
    frequencyPenalty: flags.frequencyPenalty,
    presencePenalty: flags.presencePenalty,
    repetitionPenalty: flags.repetitionPenalty,
    ...(flags.seed === undefined || isScripted ? {} : { seed: flags.seed }),
  }
}

/** Samples of two runs in one folder would be taken for one run. */
async function newRunDirectory(path: string): Promise<string> {
  const directory = resolve(path)
  await mkdir(directory, { recursive: true })
  const present = await readdir(directory)
  if (present.length === 0) return directory
  throw new ConfigError('config_invalid', `${path} is not empty: name a new folder with --out`)
}

function describeAttempt(result: AttemptResult): string {
  const seconds = (result.elapsedMs / 1000).toFixed(1)
  const verdict = result.abortReason === null ? `reward ${result.reward}` : `aborted (${result.abortReason})`
  const note = result.message === null ? '' : `: ${plain(result.message)}`
  return `${result.instanceId} attempt ${result.attemptIndex + 1}: ${verdict}, ${result.turns} turns, ${result.samples.length} samples, ${seconds} s${note}`
}
