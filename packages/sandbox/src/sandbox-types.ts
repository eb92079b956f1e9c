import type { SandboxId } from '@agentrl/spec'

/** What goes into a sandbox call and what comes out of it: plain data. */

/** A command: a text for `/bin/sh`, or a program with its arguments. */
export type Command = string | readonly [string, ...string[]]

/** What a driver can and can't do. What it can't is refused, never ignored. */
export interface SandboxCapabilities {
  /** Absolute paths mean the same to commands and to file calls. */
  readonly hasOwnRoot: boolean
  /** A child that leaves its session, forks twice and clears its environment still ends with the sandbox. */
  readonly holdsEscapees: boolean
  /** `user` may name another user than the default one. */
  readonly canSwitchUser: boolean
  /** `image` is accepted. */
  readonly hasImages: boolean
  /** `resources` are enforced. */
  readonly hasResources: boolean
  /** `mounts` are accepted. */
  readonly hasMounts: boolean
  /** The longest life that can be asked for: what the driver, or the gateway behind it, grants. */
  readonly maxLifetimeMs: number
  /** The kinds of egress policy that are enforced. */
  readonly egress: readonly EgressPolicy['kind'][]
}

/** Who a sandbox belongs to. Letters, digits and `. _ : / -`. */
export interface SandboxLabels {
  /** The process that booted it: host, process id and start time. See `processOwner`. */
  readonly owner: string
  readonly run: string
  readonly attempt: string
}

/** What may be reached from a sandbox. */
export type EgressPolicy =
  /** Nothing but its own loopback. */
  | { readonly kind: 'none' }
  /** A Unix socket of the host, heard at `127.0.0.1:port` inside, and nothing else. */
  | { readonly kind: 'adapter'; readonly adapter: AdapterRoute }
  /** Host names (`pypi.org`, `*.pythonhosted.org`) over HTTP and HTTPS, and the adapter if given. */
  | { readonly kind: 'hosts'; readonly hosts: readonly string[]; readonly adapter?: AdapterRoute }
  /** Everything that the host reaches. */
  | { readonly kind: 'open' }

/** How a sandbox without a network reaches the adapter. */
export interface AdapterRoute {
  /** Absolute path of a Unix socket on the host that the adapter listens on. */
  readonly socketPath: string
  /** The TCP port on the sandbox's loopback, 1 to 65535. */
  readonly port: number
}

export interface BootOptions {
  /** `owner` defaults to the calling process. */
  readonly labels: Omit<SandboxLabels, 'owner'> & { readonly owner?: string }
  /** Has no default: a policy that the driver can't enforce is refused. */
  readonly egress: EgressPolicy
  /** An image name for drivers that have images. */
  readonly image?: string
  /** Set for every command. Names match `[A-Za-z_][A-Za-z0-9_]*`. */
  readonly env?: Readonly<Record<string, string>>
  /** Names that are copied from the host's environment. Default none; `PATH` for the local driver. */
  readonly inheritEnv?: readonly string[]
  /** Default `/app`. */
  readonly workdir?: string
  /** The sandbox ends by itself after this long. Default 3,600,000; at most `maxLifetimeMs` of the capabilities. */
  readonly lifetimeMs?: number
  readonly resources?: SandboxResources
  /** Folders and files of the host that are visible inside, read-only. */
  readonly mounts?: readonly ReadOnlyMount[]
  /** The trace goes to `<runDirectory>/sandboxes/<id>.jsonl`. No trace without it. */
  readonly runDirectory?: string
  /** Aborting gives up the boot, removes what it made, and rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

export interface SandboxResources {
  /** May be a fraction. */
  readonly cpus?: number
  readonly memoryBytes?: number
  readonly maxProcesses?: number
}

export interface ReadOnlyMount {
  /** Absolute. */
  readonly hostPath: string
  /** Absolute, inside. */
  readonly path: string
}

export interface ExecOptions {
  /** Default: the default user of the sandbox. */
  readonly user?: string
  /** Beside and over the environment of the sandbox. */
  readonly env?: Readonly<Record<string, string>>
  /** Default `workdir`. */
  readonly cwd?: string
  /** From start to exit. Default 600,000; 1 to 86,400,000. */
  readonly timeoutMs?: number
  /** Default: an empty input. */
  readonly stdin?: string | Uint8Array
  /** For each of stdout and stderr. Default 8 MiB; 1 to 1 GiB. */
  readonly maxOutputBytes?: number
  /**
   * What happens beyond `maxOutputBytes`. `end` (default): the command is ended
   * and the outcome is `overflow`, with the first bytes. `keep-tail`: it runs
   * on, and the last bytes are kept.
   */
  readonly overflow?: 'end' | 'keep-tail'
  /** Hears the output as it comes, also beyond `maxOutputBytes`. What it throws ends the command and rejects. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void
  /** Between SIGTERM and SIGKILL. Default 2,000. */
  readonly graceMs?: number
  /** Aborting ends the command; the outcome is `cancelled`. */
  readonly signal?: AbortSignal
  /** Throw `sandbox_exec_failed` unless the command exits with 0. Default false. */
  readonly check?: boolean
  /** Leave it out of the trace unless it is rejected: for polls. Default false. */
  readonly quiet?: boolean
}

/** What a command wrote, and how long it took. */
export interface ExecOutput {
  /** As UTF-8; what is not UTF-8 shows as U+FFFD. The bytes are in `raw`. */
  readonly stdout: string
  readonly stderr: string
  readonly raw: { readonly stdout: Uint8Array; readonly stderr: Uint8Array }
  /** How many bytes were left out because of `maxOutputBytes`, as far as they were counted. */
  readonly omittedBytes: { readonly stdout: number; readonly stderr: number }
  readonly durationMs: number
}

/** How a command came to its end. Only `exited` has an exit code; 128 + n is a death by signal n. */
export type ExecOutcome = ExecOutput &
  (
    | { readonly kind: 'exited'; readonly exitCode: number }
    | { readonly kind: 'timed_out'; readonly timeoutMs: number }
    | { readonly kind: 'overflow'; readonly maxOutputBytes: number }
    | { readonly kind: 'cancelled'; readonly reason: unknown }
  )

/** What is written to a file; a text as UTF-8. A stream that fails fails the call. */
export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>

export interface FileOptions {
  readonly user?: string
  readonly signal?: AbortSignal
}

export interface WriteFileOptions extends FileOptions {
  /** Permission bits, for example 0o755. Default 0o644. */
  readonly mode?: number
}

export interface ReadFileOptions extends FileOptions {
  /** A larger file is refused with `sandbox_invalid_option`. Default 64 MiB. */
  readonly maxBytes?: number
}

export interface DownloadOptions extends FileOptions {
  /**
   * When there is more, the download ends with `sandbox_invalid_option`: what a
   * command left must not fill this machine's disk. Default 4 GiB.
   */
  readonly maxBytes?: number
}

/** A sandbox as a driver's `list` sees it. */
export interface SandboxRecord {
  readonly id: SandboxId
  readonly driver: string
  readonly labels: SandboxLabels
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds after which it should be gone by itself. */
  readonly endsAt: number
}
