import type { JsonObject } from '@agentrl/spec'
import type { DockerfileSummary } from './parse-dockerfile.ts'

/**
 * A Harbor task as its directory says it: every schema version in one shape,
 * defaults filled in, nothing decided. What we can run of it is decided by
 * `convertHarborTask`.
 *
 * Durations are seconds and sizes are megabytes, as in task.toml.
 */

/** What a phase may reach over the network. */
export type NetworkPolicy =
  | { readonly mode: 'public' }
  | { readonly mode: 'no-network' }
  /** Host names, `*.name`, addresses and CIDR ranges; none: nothing may be reached. */
  | { readonly mode: 'allowlist'; readonly allowedHosts: readonly string[] }

/** A user name or a numeric id. Null: the user of the image. */
export type HarborUser = string | number | null

/** Values may be `${NAME}` or `${NAME:-default}`: see `resolveEnvTemplates`. */
export type EnvTemplates = Readonly<Record<string, string>>

/** A command that is polled after the start, with the meaning of Docker's HEALTHCHECK. */
export interface HarborHealthcheck {
  readonly command: string
  readonly intervalSec: number
  readonly timeoutSec: number
  readonly startPeriodSec: number
  readonly startIntervalSec: number
  readonly retries: number
}

/** A tool server that the agent is to be given. */
export type HarborMcpServer =
  | { readonly name: string; readonly transport: 'sse' | 'streamable-http'; readonly url: string }
  | { readonly name: string; readonly transport: 'stdio'; readonly command: string; readonly args: readonly string[] }

/** A file or folder that Harbor keeps after the attempt. */
export interface HarborArtifact {
  readonly source: string
  readonly destination: string | null
  readonly exclude: readonly string[]
  /** Null: the agent's own container. */
  readonly service: string | null
}

/** A command that takes a snapshot for the verifier after the agent has ended. */
export interface HarborCollect {
  readonly command: string
  readonly service: string
  readonly timeoutSec: number
  readonly user: HarborUser
}

export interface HarborEnvironment {
  readonly os: 'linux' | 'windows'
  readonly buildTimeoutSec: number
  readonly dockerImage: string | null
  /** Overrides the WORKDIR of the image. */
  readonly workdir: string | null
  /** Null here and below: what the sandbox gives by default. */
  readonly cpus: number | null
  readonly memoryMb: number | null
  readonly storageMb: number | null
  readonly gpus: number | null
  readonly gpuTypes: readonly string[]
  readonly tpu: { readonly type: string; readonly topology: string } | null
  readonly network: NetworkPolicy
  readonly env: EnvTemplates
  /** A path in the container whose contents are the agent's skills. */
  readonly skillsDirectory: string | null
  readonly mcpServers: readonly HarborMcpServer[]
  readonly healthcheck: HarborHealthcheck | null
}

/** What task.toml says. */
export interface HarborConfig {
  /** As written; the value never decides how a key is read. */
  readonly schemaVersion: string | null
  /** `org/name` of the [task] section. */
  readonly packageName: string | null
  readonly source: string | null
  readonly metadata: JsonObject
  readonly agent: {
    /** Null: no limit. */
    readonly timeoutSec: number | null
    readonly user: HarborUser
    /** Null: that of the environment. */
    readonly network: NetworkPolicy | null
  }
  readonly verifier: {
    readonly timeoutSec: number
    readonly user: HarborUser
    readonly network: NetworkPolicy | null
    readonly env: EnvTemplates
    /** It runs in an environment of its own. */
    readonly isSeparate: boolean
    readonly collect: readonly HarborCollect[]
  }
  readonly environment: HarborEnvironment
  readonly artifacts: readonly HarborArtifact[]
  /** Names of the steps of a multi-step task. */
  readonly steps: readonly string[]
  /** What was read in an old or unusual way, one sentence each. */
  readonly warnings: readonly string[]
}

export interface HarborTask extends HarborConfig {
  /** Absolute path of the task. */
  readonly directory: string
  /** `[task].name`, else the name of the directory. */
  readonly name: string
  /** The text that the agent is given: no canary lines, LF line ends. Empty for a multi-step task. */
  readonly instruction: string
  /** `problem_statement` of tests/config.json as it stands there, where a benchmark adapter left one. */
  readonly problemStatement: string | null
  /** A trajectory.json is there: the agent is to begin in the middle of a recorded attempt. */
  readonly hasTrajectory: boolean
  /** Null: no environment/Dockerfile. */
  readonly dockerfile: DockerfileSummary | null
  /** Name of the compose file in environment/; null: none. */
  readonly composeFile: string | null
  /** A .dockerignore decides what the Dockerfile can copy. */
  readonly hasDockerIgnore: boolean
  /** The environment directory holds something to build from or to upload. */
  readonly hasEnvironmentFiles: boolean
  /** SHA-256 over all files of the task: see `digestDirectory`. */
  readonly digest: string
  /** SHA-256 over the environment directory. */
  readonly environmentDigest: string
}
