import { join, relative, resolve } from 'node:path'
import { isAgentRlError, type JsonObject, TaskError, taskId } from '@agentrl/spec'
import { buildEvalCommand } from './eval-command.ts'
import type { HarborTask, NetworkPolicy } from './harbor-task.ts'
import { resolveImage } from './image.ts'
import type { NetworkMetadata, PromptRow } from './prompt-row.ts'
import { type LiftableReason, type RefusalReason, refusalMeanings, refusalReasons } from './refusals.ts'

export interface ConvertOptions {
  /** Images by instance id or by name of the task directory; they win over everything. Default: none. */
  readonly images?: Readonly<Record<string, string>>
  /**
   * Name of the image of a task that would have to be built, with `{name}`, `{directory}` and `{digest}`
   * (12 characters) in it. Default: none; such a task is marked to be built, as `agentrl/{name}:{digest}`.
   */
  readonly imageTemplate?: string
  /** Folder for a task that names none itself. Default: `/testbed` on SWE-bench images, else that of the image. */
  readonly defaultWorkdir?: string
  /** Reasons that don't refuse, because the sandbox copes. Default: none. */
  readonly accept?: readonly LiftableReason[]
  /** Given: a task that reads a variable which is missing here is refused. Default: not checked. */
  readonly hostEnv?: Readonly<Record<string, string | undefined>>
  /** Where the tasks were fetched from, for the row. Default: unknown. */
  readonly registry?: { readonly gitUrl: string; readonly gitCommitId?: string; readonly path: string }
  /** Paths in the row are made relative to this folder. Default: absolute paths. */
  readonly relativeTo?: string
}

function refuse(task: HarborTask, reasons: readonly RefusalReason[]): TaskError {
  const meanings = reasons.map((reason) => `${refusalMeanings[reason]} (${reason})`).join('; ')
  return new TaskError('task_unsupported', `Task ${task.name} at ${task.directory} is left out: ${meanings}`, {
    details: { path: task.directory, reasons },
  })
}

function checkedInstanceId(task: HarborTask): string {
  try {
    return taskId(task.name)
  } catch (error) {
    if (!isAgentRlError(error)) throw error
    const hint = 'rename its directory, or set [task] name = "org/name" in task.toml'
    throw new TaskError('task_invalid', `${task.directory}: ${error.message}; ${hint}`, {
      cause: error,
      details: { path: task.directory },
    })
  }
}

function networkMetadata(policy: NetworkPolicy): NetworkMetadata {
  return { mode: policy.mode, allowed_hosts: policy.mode === 'allowlist' ? policy.allowedHosts : [] }
}

function healthcheckMetadata(task: HarborTask): JsonObject | null {
  const { healthcheck } = task.environment
  return healthcheck === null
    ? null
    : {
        command: healthcheck.command,
        interval_sec: healthcheck.intervalSec,
        timeout_sec: healthcheck.timeoutSec,
        start_period_sec: healthcheck.startPeriodSec,
        start_interval_sec: healthcheck.startIntervalSec,
        retries: healthcheck.retries,
      }
}

function replayOf(task: HarborTask, context: string): PromptRow['metadata']['harbor']['replay'] {
  const { dockerfile } = task
  if (dockerfile === null || dockerfile.buildInstruction !== null || task.hasDockerIgnore) return null
  return { base_image: dockerfile.base, env: dockerfile.env, context, copies: dockerfile.copies }
}

/** `environment.workdir` > last WORKDIR > the caller's default > `/testbed` on SWE-bench images > the image's own. */
function resolveWorkdir(task: HarborTask, image: string, options: ConvertOptions): string | null {
  const written = task.environment.workdir ?? task.dockerfile?.workdir ?? options.defaultWorkdir
  const isSweBench = [image, task.dockerfile?.base ?? ''].some((name) => /(^|\/)sweb\.eval\./.test(name))
  return written ?? (isSweBench ? '/testbed' : null)
}

/**
 * Converts a task to a row of a data set. Pure.
 *
 * Throws `task_unsupported` with `details.reasons` (`RefusalReason`s, all that
 * apply) where the task is valid and we can't run it, and `task_invalid` where
 * its name can't be an id or it names no image.
 */
export function convertHarborTask(task: HarborTask, options: ConvertOptions = {}): PromptRow {
  const instanceId = checkedInstanceId(task)
  const lifted: readonly RefusalReason[] = options.accept ?? []
  const reasons = refusalReasons(task, options.hostEnv ?? null).filter((reason) => !lifted.includes(reason))
  if (reasons.length > 0) throw refuse(task, reasons)

  const { image, needsBuild } = resolveImage(task, options)
  const workdir = resolveWorkdir(task, image, options)
  const { agent, verifier, environment } = task
  const place = (path: string): string =>
    options.relativeTo === undefined ? path : relative(resolve(options.relativeTo), path) || '.'
  const context = join(task.directory, 'environment')
  const isPrebuilt = task.dockerfile === null && task.composeFile === null
  return {
    prompt: task.instruction,
    label: instanceId,
    metadata: {
      instance_id: instanceId,
      image,
      workdir,
      problem_statement: task.instruction,
      eval_cmd: buildEvalCommand({ workdir, timeoutSec: verifier.timeoutSec }),
      agent_timeout_sec: agent.timeoutSec,
      verifier_timeout_sec: verifier.timeoutSec,
      agent_user: agent.user,
      verifier_user: verifier.user,
      harbor: {
        version: 1,
        name: task.name,
        schema_version: task.schemaVersion,
        digest: task.digest,
        task_dir: place(task.directory),
        tests_dir: place(join(task.directory, 'tests')),
        source: task.source,
        registry: options.registry
          ? {
              git_url: options.registry.gitUrl,
              git_commit_id: options.registry.gitCommitId ?? null,
              path: options.registry.path,
            }
          : null,
        build: needsBuild
          ? {
              dockerfile: place(join(context, 'Dockerfile')),
              context: place(context),
              timeout_sec: environment.buildTimeoutSec,
            }
          : null,
        replay: replayOf(task, place(context)),
        upload_dir: isPrebuilt && task.hasEnvironmentFiles ? place(context) : null,
        compose_file: task.composeFile === null ? null : place(join(context, task.composeFile)),
        environment: {
          cpus: environment.cpus,
          memory_mb: environment.memoryMb,
          storage_mb: environment.storageMb,
          gpus: environment.gpus,
          gpu_types: environment.gpuTypes,
          tpu: environment.tpu,
          env: environment.env,
          skills_dir: environment.skillsDirectory,
          mcp_servers: environment.mcpServers.map((server): JsonObject => ({ ...server })),
          healthcheck: healthcheckMetadata(task),
        },
        agent_network: networkMetadata(agent.network ?? environment.network),
        verifier_network: networkMetadata(verifier.network ?? environment.network),
        verifier_env: verifier.env,
        verifier_collect: verifier.collect.map(
          ({ command, service, timeoutSec, user }): JsonObject => ({ command, service, timeout_sec: timeoutSec, user }),
        ),
        artifacts: task.artifacts.map((artifact): JsonObject => ({ ...artifact })),
        problem_statement: task.problemStatement,
        metadata: task.metadata,
        warnings: task.warnings,
      },
    },
  }
}
