import { writeFile } from 'node:fs/promises'
import { convertHarborDataset } from '@agentrl/harbor'
import { TaskError } from '@agentrl/spec'
import { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'

export function convertCommand({ output, signal }: CommandContext): Command {
  return new Command('convert')
    .description('Converts Harbor tasks into prompt rows, one JSON line a task.')
    .requiredOption('--tasks <dir>', 'a Harbor task, or a folder of them')
    .option('--out <file>', 'where the rows go; standard output without it')
    .action(async (options: { tasks: string; out?: string }) => {
      const lines: string[] = []
      let refused = 0
      for await (const conversion of convertHarborDataset(options.tasks, { signal })) {
        if (conversion.kind === 'row') lines.push(JSON.stringify(conversion.row))
        else {
          refused += 1
          output.err(`left out: ${conversion.message} [${conversion.code}]\n`)
        }
      }
      if (lines.length === 0) {
        throw new TaskError('task_not_found', `No task of ${options.tasks} could be converted (${refused} left out)`)
      }
      const text = `${lines.join('\n')}\n`
      if (options.out === undefined) output.out(text)
      else await writeFile(options.out, text)
      output.err(`${lines.length} tasks converted, ${refused} left out\n`)
    })
}
