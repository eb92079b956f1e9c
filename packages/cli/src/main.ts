#!/usr/bin/env node
import { isAgentRlError } from '@agentrl/spec'
import { Command, CommanderError } from 'commander'
import { certifyCommand } from './commands/certify.ts'
import { convertCommand } from './commands/convert.ts'
import { rolloutCommand } from './commands/rollout.ts'

/** Composes the commands; results go to stdout, everything else to stderr. */
function createProgram(signal: AbortSignal): Command {
  return new Command('agentrl')
    .description('Turns real coding agents into exact on-policy training data for reinforcement learning.')
    .addHelpText(
      'after',
      `
Examples:
  agentrl convert --tasks ./tasks --out prompts.jsonl
  agentrl rollout --tasks ./tasks --agent mini --engine http://127.0.0.1:30000 --tokenizer ./Qwen3-8B --n 8 --out runs/first

Exit status: 0 done, 1 failed, 2 wrong usage, 3 ran but nothing could be graded or the ledger does not add up, 130 interrupted.`,
    )
    .showHelpAfterError('(agentrl --help says more)')
    .addCommand(rolloutCommand(signal))
    .addCommand(convertCommand(signal))
    .addCommand(certifyCommand())
    .exitOverride()
}

async function main(argv: readonly string[]): Promise<number> {
  const interrupt = new AbortController()
  const onSignal = (): void => {
    if (interrupt.signal.aborted) process.exit(130)
    process.stderr.write('\nInterrupted: ending what runs; what has finished is kept. Once more ends at once.\n')
    interrupt.abort(new DOMException('interrupted', 'AbortError'))
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    const program = createProgram(interrupt.signal)
    for (const command of program.commands) command.exitOverride()
    await program.parseAsync([...argv], { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (interrupt.signal.aborted) return 130
    process.stderr.write(`agentrl: ${describe(error)}\n`)
    return isAgentRlError(error) && error.code.startsWith('config_') ? 2 : 1
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

function describe(error: unknown): string {
  if (isAgentRlError(error)) return `${error.message.replaceAll('\n', ' ')} [${error.code}]`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

// `agentrl … | head` closes the pipe: there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await main(process.argv.slice(2))
