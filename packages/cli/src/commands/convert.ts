import { writeFile } from 'node:fs/promises'
import { convertHarborDataset } from '@agentrl/harbor'
import { TaskError } from '@agentrl/spec'
import { Command } from 'commander'

export function convertCommand(signal: AbortSignal): Command {
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
          process.stderr.write(`left out: ${conversion.message} [${conversion.code}]\n`)
        }
      }
      if (lines.length === 0) {
        throw new TaskError('task_not_found', `No task of ${options.tasks} could be converted (${refused} left out)`)
      }
      const text = `${lines.join('\n')}\n`
      if (options.out === undefined) process.stdout.write(text)
      else await writeFile(options.out, text)
      process.stderr.write(`${lines.length} tasks converted, ${refused} left out\n`)
    })
}
