import type { SandboxId } from '@agentrl/spec'
import type { ResolvedBootOptions } from './boot-options.ts'
import type { ProcessGroup } from './process-group.ts'
import type { SandboxCapabilities } from './sandbox-types.ts'

/**
 * What a driver has to do. `createSandbox` makes a `Sandbox` of it: it checks
 * options, keeps the limits of commands, writes the trace and ends what runs.
 */
export interface SandboxBackend {
  readonly id: SandboxId
  readonly driver: string
  readonly capabilities: SandboxCapabilities
  readonly options: ResolvedBootOptions
  readonly home: string
  /** What every command finds in its environment, below what the caller sets. */
  readonly env: Readonly<Record<string, string>>
  /** The path that commands use for a normal absolute path. */
  commandPath(path: string): string
  /** Starts a command in a process group of its own. Rejects with a `SandboxError`. */
  start(command: StartCommand): Promise<RunningCommand>
  /** File calls that this driver does better than with commands. */
  readonly files?: FileBackend
  extendLifetime?(lifetimeMs: number): Promise<void>
  /**
   * Ends everything and removes what the sandbox left on its host. Called once.
   * Rejects with `sandbox_survivors` when something is left.
   */
  end(): Promise<void>
}

/** A checked command: the program and its arguments, each short enough for argv. */
export interface StartCommand {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** As commands see it. */
  readonly cwd: string
  readonly user?: string
  readonly stdin?: Uint8Array | AsyncIterable<Uint8Array>
}

/** A command that runs. Its streams end when nobody can write to them any more. */
export interface RunningCommand {
  readonly stdout: AsyncIterable<Uint8Array>
  readonly stderr: AsyncIterable<Uint8Array>
  /** Resolves with the exit code of the first process; rejects with `sandbox_lost`. */
  readonly exitCode: Promise<number>
  readonly group: ProcessGroup
  /** Whether it was ended because its output filled the sandbox. Default: no. */
  isOverfull?(): boolean
  /** The command is over for its caller: what is still open must not keep this process alive. */
  release(): void
}

/** Who makes a file call, and until when it matters. */
export interface FileCall {
  readonly user?: string
  /** Aborting ends the call, which rejects with anything. */
  readonly signal: AbortSignal
}

/** The file calls of a driver. Paths are normal, absolute and of the sandbox. What is no regular file is refused. */
export interface FileBackend {
  writeFile(path: string, content: AsyncIterable<Uint8Array>, call: FileCall & { mode: number }): Promise<void>
  /** Rejects with `sandbox_file_not_found`, and with `sandbox_invalid_option` when it is over `maxBytes`. */
  readFile(path: string, call: FileCall & { maxBytes: number }): Promise<Uint8Array>
  /** Rejects with `sandbox_file_not_found`. */
  readStream(path: string, call: FileCall): AsyncIterable<Uint8Array>
  exists(path: string, call: FileCall): Promise<boolean>
  upload(hostPath: string, path: string, call: FileCall): Promise<void>
  /** Rejects with `sandbox_invalid_option` when it is over `maxBytes`. */
  download(path: string, hostPath: string, call: FileCall & { maxBytes: number }): Promise<void>
}
