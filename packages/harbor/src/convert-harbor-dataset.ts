import { readdir, realpath, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { isAgentRlError, TaskError } from '@agentrl/spec'
import { type ConvertOptions, convertHarborTask } from './convert-harbor-task.ts'
import type { PromptRow } from './prompt-row.ts'
import { readHarborTask } from './read-harbor-task.ts'
import type { RefusalReason } from './refusals.ts'

export interface ConvertDatasetOptions extends Omit<ConvertOptions, 'registry'> {
  /** The repository that the folder was fetched from; each row adds its own path. Default: unknown. */
  readonly registry?: { readonly gitUrl: string; readonly gitCommitId?: string }
  /** Stops between two tasks. */
  readonly signal?: AbortSignal
}

/** What became of one task of a data set. */
export type HarborConversion =
  | { readonly kind: 'row'; readonly directory: string; readonly row: PromptRow }
  | {
      readonly kind: 'refused'
      readonly directory: string
      /** `task_invalid`: mend the task. `task_unsupported`: see `reasons`. */
      readonly code: string
      /** Empty where the task is invalid. */
      readonly reasons: readonly RefusalReason[]
      /** One line: what, where, what to do. */
      readonly message: string
    }

const skippedFolders = new Set(['.git', 'node_modules'])

/**
 * Yields the task directories at and below `root`, sorted, parents first. A
 * folder with a task.toml is a task, and so is one with an instruction.md: that
 * it lacks its task.toml is to be told. Nothing is looked for inside a task.
 */
async function* findTaskDirectories(root: string, seen: Set<string>): AsyncGenerator<string> {
  const identity = await realpath(root)
  if (seen.has(identity)) return
  seen.add(identity)
  const names = (await readdir(root)).sort()
  if (names.includes('task.toml') || names.includes('instruction.md')) {
    yield root
    return
  }
  for (const name of names) {
    const path = join(root, name)
    const stats = await stat(path).catch(() => null)
    if (stats?.isDirectory() && !skippedFolders.has(name)) yield* findTaskDirectories(path, seen)
  }
}

function refused(directory: string, error: unknown): HarborConversion {
  if (!isAgentRlError(error)) throw error
  const { code, message, details } = error
  const reasons = Array.isArray(details.reasons) ? (details.reasons as RefusalReason[]) : []
  return { kind: 'refused', directory, code, reasons, message }
}

async function convertOne(directory: string, root: string, options: ConvertDatasetOptions): Promise<HarborConversion> {
  const { registry, ...rest } = options
  const path = relative(root, directory) || '.'
  const taskOptions: ConvertOptions = registry ? { ...rest, registry: { ...registry, path } } : rest
  try {
    return { kind: 'row', directory, row: convertHarborTask(await readHarborTask(directory), taskOptions) }
  } catch (error) {
    return refused(directory, error)
  }
}

function refuseDuplicate(conversion: HarborConversion, firstDirectories: Map<string, string>): HarborConversion {
  if (conversion.kind === 'refused') return conversion
  const id = conversion.row.metadata.instance_id
  const first = firstDirectories.get(id)
  if (first === undefined) {
    firstDirectories.set(id, conversion.directory)
    return conversion
  }
  const message = `${conversion.directory} has the instance id ${id} of ${first}: rename one, or their attempts would be compared as one group`
  return { kind: 'refused', directory: conversion.directory, code: 'task_invalid', reasons: [], message }
}

/**
 * Converts all tasks at and below a folder, one at a time, in the order of
 * their paths. A task that can't be used is yielded as refused, with its
 * reason, and never stops the others; so is the second task with one id.
 *
 * Throws `task_not_found` where there is no folder or no task in it, and the
 * signal's reason. Memory: the set of ids.
 */
export async function* convertHarborDataset(
  directory: string,
  options: ConvertDatasetOptions = {},
): AsyncGenerator<HarborConversion> {
  const root = resolve(directory)
  const stats = await stat(root).catch(() => null)
  if (!stats?.isDirectory()) {
    throw new TaskError('task_not_found', `There is no folder at ${root}: check the path`, { details: { path: root } })
  }
  const firstDirectories = new Map<string, string>()
  let count = 0
  for await (const taskDirectory of findTaskDirectories(root, new Set())) {
    options.signal?.throwIfAborted()
    count += 1
    yield refuseDuplicate(await convertOne(taskDirectory, root, options), firstDirectories)
  }
  if (count > 0) return
  throw new TaskError('task_not_found', `No task at or below ${root}: a task is a folder with a task.toml`, {
    details: { path: root },
  })
}
