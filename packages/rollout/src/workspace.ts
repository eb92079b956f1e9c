import { join } from 'node:path'
import type { PromptRow } from '@agentrl/harbor'
import type { Sandbox } from '@agentrl/sandbox'
import { TaskError } from '@agentrl/spec'

/**
 * The project folder of an attempt: filled as the task's Dockerfile says where
 * the sandbox has no images, recorded before the agent starts, and compared
 * after it has ended. The record lies outside the project, so that neither the
 * project's own repository nor the agent's commits matter.
 */
const recordPath = '/tmp/agentrl-baseline.git'

/** Where a row's agent works. */
export function workdirOf(row: PromptRow): string {
  return row.metadata.workdir ?? '/app'
}

/** Copies the task's files to where its image would have them. Throws `task_unsupported`. */
export async function fillWorkspace(sandbox: Sandbox, row: PromptRow, signal?: AbortSignal): Promise<void> {
  const { harbor, instance_id: name, image } = row.metadata
  const options = signal === undefined ? {} : { signal }
  if (!sandbox.capabilities.hasImages) {
    if (harbor.replay === null) {
      throw new TaskError(
        'task_unsupported',
        `Task "${name}" takes the image ${image}: a ${sandbox.driver} sandbox has no images, and its Dockerfile runs ` +
          'commands. Use a driver with images',
      )
    }
    for (const { source, target } of harbor.replay.copies) {
      await sandbox.upload(join(harbor.replay.context, source), target, options)
    }
  }
  if (harbor.upload_dir !== null) await sandbox.upload(harbor.upload_dir, workdirOf(row), options)
}

/** Records the project as it is. Throws `sandbox_exec_failed`. */
export async function recordBaseline(sandbox: Sandbox, workdir: string, signal?: AbortSignal): Promise<void> {
  await git(sandbox, workdir, ['init', '--quiet'], signal)
  await git(sandbox, workdir, ['add', '--all', '--force'], signal)
  await git(sandbox, workdir, ['commit', '--quiet', '--allow-empty', '--no-verify', '--message', 'baseline'], signal)
}

/** What the agent changed, as one patch. Empty text: nothing. Throws `sandbox_exec_failed`. */
export async function readPatch(sandbox: Sandbox, workdir: string, signal?: AbortSignal): Promise<string> {
  await git(sandbox, workdir, ['add', '--all'], signal)
  return git(sandbox, workdir, ['diff', '--cached', '--binary', '--no-color', '--no-ext-diff', 'HEAD'], signal)
}

async function git(sandbox: Sandbox, workdir: string, args: string[], signal?: AbortSignal): Promise<string> {
  const outcome = await sandbox.exec(
    [
      'git',
      '-c',
      'safe.directory=*',
      '-c',
      'core.hooksPath=/dev/null',
      '-c',
      'user.name=agentrl',
      '-c',
      'user.email=agentrl@localhost',
      `--git-dir=${sandbox.path(recordPath)}`,
      `--work-tree=${sandbox.path(workdir)}`,
      ...args,
    ],
    {
      cwd: workdir,
      timeoutMs: 120_000,
      maxOutputBytes: 64 * 1024 * 1024,
      env: { GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' },
      check: true,
      ...(signal === undefined ? {} : { signal }),
    },
  )
  return outcome.stdout
}
