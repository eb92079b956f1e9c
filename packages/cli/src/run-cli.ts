import { isAgentRlError } from '@agentrl/spec'
import { Command, CommanderError } from 'commander'
import type { CommandContext, CommandOutput } from './command-context.ts'
import { certifyCommand } from './commands/certify.ts'
import { convertCommand } from './commands/convert.ts'
import { doctorCommand } from './commands/doctor.ts'
import { planCommand } from './commands/plan.ts'
import { rolloutCommand } from './commands/rollout.ts'

/** Runs one command line and gives its exit status. Throws nothing. */
export async function runCli(argv: readonly string[], output: CommandOutput, signal: AbortSignal): Promise<number> {
  let exitCode = 0
  const context: CommandContext = {
    output,
    signal,
    setExitCode: (code) => {
      exitCode = code
    },
  }
  try {
    await createProgram(context).parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (signal.aborted) return 130
    output.err(`agentrl: ${describe(error)}\n`)
    return isAgentRlError(error) && error.code.startsWith('config_') ? 2 : 1
  }
}

function createProgram(context: CommandContext): Command {
  const program = new Command('agentrl')
    .description('Turns real coding agents into exact on-policy training data for reinforcement learning.')
    .addHelpText(
      'after',
      `
Examples:
  agentrl convert --tasks ./tasks --out prompts.jsonl
  agentrl rollout --tasks ./tasks --agent mini --engine http://127.0.0.1:30000 --tokenizer ./Qwen3-8B --n 8 --out runs/first

Exit status: 0 done, 1 failed, 2 wrong usage, 3 ran but nothing could be graded or the ledger does not add up, 130 interrupted.`,
    )
    .addCommand(rolloutCommand(context))
    .addCommand(convertCommand(context))
    .addCommand(certifyCommand(context))
    .addCommand(planCommand(context))
    .addCommand(doctorCommand(context))
  for (const command of [program, ...program.commands]) {
    command
      .exitOverride()
      .showHelpAfterError(`(${command === program ? 'agentrl' : `agentrl ${command.name()}`} --help says more)`)
      .configureOutput({ writeOut: context.output.out, writeErr: context.output.err })
  }
  return program
}

function describe(error: unknown): string {
  if (isAgentRlError(error)) return `${error.message.replaceAll('\n', ' ')} [${error.code}]`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
