import { planReport, type StepStrategy } from '@agentrl/microbatch'
import { Command, Option } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { loadLengths } from '../load-lengths.ts'
import { formatPlan } from '../print-plan.ts'
import { integerOption, numberOption } from '../read-option.ts'

interface PlanFlags {
  readonly lengths: string
  readonly dp: number
  readonly cp: number
  readonly tp: number
  readonly pp: number
  readonly vpp: number
  readonly microbatchGroup: number
  readonly maxTokens: number
  readonly globalBatch?: number
  readonly strategy: StepStrategy
  readonly acceptOverCap: number
  readonly json: boolean
}

const strategies: readonly StepStrategy[] = ['first-fit', 'lpt', 'karmarkar-karp', 'best']

export function planCommand({ output, signal, setExitCode }: CommandContext): Command {
  return new Command('plan')
    .description('Plans the micro-batches of a training step without training, and refuses what would not fit.')
    .requiredOption('--lengths <file>', 'samples.jsonl of a run, or whole numbers: a text file or a JSON array')
    .requiredOption('--dp <count>', 'data-parallel ranks', integerOption(1))
    .requiredOption(
      '--max-tokens <count>',
      'tokens of a micro-batch on one GPU; the cap is this times --cp',
      integerOption(1),
    )
    .option('--cp <count>', 'context-parallel ranks', integerOption(1), 1)
    .option('--tp <count>', 'tensor-parallel ranks; padding grows with it', integerOption(1), 1)
    .option('--pp <count>', 'pipeline stages', integerOption(1), 1)
    .option('--vpp <count>', 'virtual pipeline stages', integerOption(1), 1)
    .option('--microbatch-group <count>', 'micro-batches that a virtual pipeline takes at a time', integerOption(1), 1)
    .option('--global-batch <count>', 'rollouts in a step; all of them without it', integerOption(1))
    .addOption(
      new Option('--strategy <name>', "how samples are packed; first-fit is slime's way")
        .choices([...strategies])
        .default('first-fit'),
    )
    .option('--accept-over-cap <ratio>', 'largest peak to go ahead with, in caps', numberOption(1, 1000), 1)
    .option('--json', 'print the plan as JSON', false)
    .addHelpText(
      'after',
      `
Examples:
  agentrl plan --lengths runs/first/samples.jsonl --dp 2 --cp 8 --tp 2 --max-tokens 12000
  agentrl plan --lengths lengths.txt --dp 4 --max-tokens 16384 --strategy best --json

Exit status: 0 the plan fits, 2 it is refused or the usage is wrong.`,
    )
    .action(async (flags: PlanFlags) => {
      const { lengths, rolloutIds } = await loadLengths(flags.lengths, signal)
      const report = planReport({
        lengths,
        rolloutIds,
        dpSize: flags.dp,
        cpSize: flags.cp,
        tpSize: flags.tp,
        ppSize: flags.pp,
        vppSize: flags.vpp,
        microbatchGroupSize: flags.microbatchGroup,
        maxTokensPerGpu: flags.maxTokens,
        strategy: flags.strategy,
        acceptedPeakRatio: flags.acceptOverCap,
        ...(flags.globalBatch === undefined ? {} : { globalBatchSize: flags.globalBatch }),
      })
      output.out(`${flags.json ? JSON.stringify({ version: 1, ...report }, null, 2) : formatPlan(report)}\n`)
      if (report.refusal === null) return
      output.err(`agentrl: ${report.refusal.message} [${report.refusal.code}]\n`)
      setExitCode(2)
    })
}
