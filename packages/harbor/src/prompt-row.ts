import type { JsonObject } from '@agentrl/spec'

/**
 * One line of a data set: the three keys that trainers read by default
 * (`--input-key prompt --label-key label --metadata-key metadata`), and in
 * `metadata` what a rollout needs to run and grade an attempt. Keys of the file
 * are in snake_case; `version` counts up when their meaning changes.
 *
 * A row holds no solution, no gold patch and no resolved secret. It points into
 * the task directory: `tests_dir` is uploaded to /tests after the agent has
 * ended, never before.
 */
export interface PromptRow {
  readonly prompt: string
  /** The instance id: graders find the rest in `metadata`. */
  readonly label: string
  readonly metadata: PromptRowMetadata
}

export interface PromptRowMetadata {
  /** Names the task and the group of its attempts; unique in a data set. */
  readonly instance_id: string
  readonly image: string
  /** Null: the WORKDIR of the image, which only the image knows. */
  readonly workdir: string | null
  /** The prompt again, under the name that agents with a PROBLEM_STATEMENT.md read. */
  readonly problem_statement: string
  /** Short: runs what lies in /tests and prints the reward; see `readEvalOutput`. */
  readonly eval_cmd: string
  readonly agent_timeout_sec: number | null
  readonly verifier_timeout_sec: number
  /** Null: the user of the image. */
  readonly agent_user: string | number | null
  readonly verifier_user: string | number | null
  readonly harbor: HarborMetadata
}

/** A network policy in a row. */
export interface NetworkMetadata {
  readonly mode: 'public' | 'no-network' | 'allowlist'
  /** Empty unless `mode` is `allowlist`. */
  readonly allowed_hosts: readonly string[]
}

/** The Harbor task behind a row. Paths are absolute, or relative to what `relativeTo` named. */
export interface HarborMetadata {
  readonly version: 1
  readonly name: string
  readonly schema_version: string | null
  /** SHA-256 of the task directory. */
  readonly digest: string
  readonly task_dir: string
  readonly tests_dir: string
  readonly source: string | null
  /** Where the task was fetched from, if the caller said so. */
  readonly registry: { readonly git_url: string; readonly git_commit_id: string | null; readonly path: string } | null
  /** The image must be built from this before the first attempt. Null: it can be pulled. */
  readonly build: { readonly dockerfile: string; readonly context: string; readonly timeout_sec: number } | null
  /** The Dockerfile said without a build, for sandboxes that build no images. Null: it takes a build. */
  readonly replay: {
    readonly base_image: string | null
    readonly env: Readonly<Record<string, string>>
    /** The folder that sources of `copies` are relative to. */
    readonly context: string
    /** In order. A folder's contents go to `target`; a file goes to `target`, or into it if it ends with `/`. */
    readonly copies: readonly { readonly source: string; readonly target: string }[]
  } | null
  /** Contents to upload to `workdir` before the agent starts: a prebuilt image without a Dockerfile. */
  readonly upload_dir: string | null
  /** The environment takes Docker Compose; the agent works in its service `main`. */
  readonly compose_file: string | null
  readonly environment: {
    readonly cpus: number | null
    readonly memory_mb: number | null
    readonly storage_mb: number | null
    readonly gpus: number | null
    readonly gpu_types: readonly string[]
    readonly tpu: { readonly type: string; readonly topology: string } | null
    /** Values may be templates of the host's environment: see `resolveEnvTemplates`. */
    readonly env: Readonly<Record<string, string>>
    readonly skills_dir: string | null
    readonly mcp_servers: readonly JsonObject[]
    readonly healthcheck: JsonObject | null
  }
  readonly agent_network: NetworkMetadata
  readonly verifier_network: NetworkMetadata
  /** Templates, as above. */
  readonly verifier_env: Readonly<Record<string, string>>
  readonly verifier_collect: readonly JsonObject[]
  readonly artifacts: readonly JsonObject[]
  /** `problem_statement` of a benchmark's own tests/config.json, line ends as they stand there. */
  readonly problem_statement: string | null
  /** [metadata] of task.toml. */
  readonly metadata: JsonObject
  readonly warnings: readonly string[]
}
