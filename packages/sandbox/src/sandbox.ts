/// <reference lib="esnext.disposable" />
import type { SandboxId } from '@agentrl/spec'
import type {
  BootOptions,
  Command,
  DownloadOptions,
  ExecOptions,
  ExecOutcome,
  FileContent,
  FileOptions,
  ReadFileOptions,
  SandboxCapabilities,
  SandboxLabels,
  SandboxRecord,
  WriteFileOptions,
} from './sandbox-types.ts'
import type { TraceEvent } from './trace.ts'

/**
 * The contract of a sandbox: a place where commands of an agent run, which
 * holds what it is given, ends when it is told to, and leaves nothing behind.
 *
 *     driver.boot(options) ──▶ Sandbox ── exec, files ──▶ asyncDispose
 *
 * What a command does is a result (`ExecOutcome`): an exit code, a timeout, an
 * overflow, a cancellation. What the sandbox itself fails to do is an error
 * (`SandboxError`): it did not boot, it is lost, it was asked for what it can't
 * do, or something outlived it.
 *
 * Paths are POSIX. A path that is not absolute is taken from `workdir`. In a
 * sandbox with a file system root of its own, `/tests` is `/tests` for file
 * calls and for commands alike. The local driver has none: its `/tests` lies
 * under a folder of the host, `path('/tests')` says where, and every command
 * finds that folder in `$AGENTRL_SANDBOX_ROOT` (empty where there is a root of
 * its own, so that "$AGENTRL_SANDBOX_ROOT/tests" is right everywhere).
 */
export interface Sandbox extends AsyncDisposable {
  readonly id: SandboxId
  /** The name of the driver that booted it. */
  readonly driver: string
  readonly capabilities: SandboxCapabilities
  readonly labels: SandboxLabels
  /** Where commands start; exists from the beginning. */
  readonly workdir: string
  /** The home folder of commands that run as the default user. */
  readonly home: string
  /** The path that a command uses for `path`; throws `sandbox_path_outside`. */
  path(path: string): string
  /**
   * Runs a command to its end. A string is given to `/bin/sh`; a list is run as
   * it is. Rejects with `sandbox_exec_failed` when `check` is set and the
   * command does not exit with 0, with `sandbox_lost` when the sandbox is gone,
   * with `sandbox_invalid_option` for options that no command can have, and
   * with `sandbox_survivors` when a process could not be ended.
   */
  exec(command: Command, options?: ExecOptions): Promise<ExecOutcome>
  /** Creates or replaces a file, and the folders above it. */
  writeFile(path: string, content: FileContent, options?: WriteFileOptions): Promise<void>
  /** The bytes of a file. Throws `sandbox_file_not_found`. */
  readFile(path: string, options?: ReadFileOptions): Promise<Uint8Array>
  /** The same as UTF-8; what is not UTF-8 shows as U+FFFD. */
  readText(path: string, options?: ReadFileOptions): Promise<string>
  /** The bytes of a file of any size, as they come. Leaving the loop ends the reading. */
  readStream(path: string, options?: FileOptions): AsyncIterable<Uint8Array>
  /** Whether anything is at the path. */
  exists(path: string, options?: FileOptions): Promise<boolean>
  /** Copies a file of the host to `path`, or what a folder of the host holds into the folder `path`. */
  upload(hostPath: string, path: string, options?: FileOptions): Promise<void>
  /**
   * Copies a file to `hostPath`, or what a folder holds into the folder
   * `hostPath`. Links come along as links, and may lead anywhere: don't follow them.
   */
  download(path: string, hostPath: string, options?: DownloadOptions): Promise<void>
  /** Moves the end of the sandbox's life to `lifetimeMs` from now. */
  extendLifetime(lifetimeMs: number): Promise<void>
  /** Writes a line into the trace, secrets redacted. Never rejects. */
  record(event: TraceEvent): Promise<void>
}

/** Boots sandboxes of one kind. */
export interface SandboxDriver {
  readonly name: string
  readonly capabilities: SandboxCapabilities
  /** Throws `sandbox_boot_failed`, or `sandbox_invalid_option` for what this driver can't give. */
  boot(options: BootOptions): Promise<Sandbox>
  /** The sandboxes of this driver on this machine or account, whoever booted them. */
  list(): Promise<readonly SandboxRecord[]>
  /** Ends a listed sandbox and removes what it left; one that is gone already is no error. */
  remove(record: SandboxRecord): Promise<void>
}
