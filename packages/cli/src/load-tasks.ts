import { stat } from 'node:fs/promises'
import { convertHarborDataset, type PromptRow } from '@agentrl/harbor'
import { TaskError } from '@agentrl/spec'
import type { CommandContext } from './command-context.ts'

/** The tasks of a folder as prompt rows; what can't be run is said and left out. Throws `task_not_found`. */
export async function loadTasks(directory: string, { output, signal }: CommandContext): Promise<PromptRow[]> {
  const stats = await stat(directory).catch(() => null)
  if (stats === null || !stats.isDirectory()) {
    throw new TaskError('task_not_found', `There is no folder of tasks at ${directory}: check --tasks`)
  }
  const rows: PromptRow[] = []
  const refusals: string[] = []
  for await (const conversion of convertHarborDataset(directory, { signal })) {
    if (conversion.kind === 'row') rows.push(conversion.row)
    else refusals.push(`${conversion.message} [${conversion.code}]`)
  }
  for (const refusal of refusals) output.err(`left out: ${refusal}\n`)
  if (rows.length > 0) return rows
  throw new TaskError(
    'task_not_found',
    refusals.length === 0
      ? `No Harbor task (a folder with task.toml) was found in ${directory}: check --tasks`
      : `None of the ${refusals.length} tasks in ${directory} can be run: the lines above say why`,
  )
}
