export { type BubblewrapDriverOptions, createBubblewrapDriver } from './bubblewrap/bubblewrap-driver.ts'
export { checkLifetimes, type Lifetimes } from './check-lifetimes.ts'
export { type ExecAndWaitOptions, execAndWait } from './exec-and-wait.ts'
export { type BootLimits, limitBoots } from './limit-boots.ts'
export { createLocalDriver, type LocalDriverOptions } from './local-driver.ts'
export { type ProcessGroup, type TerminateOptions, terminateProcessGroup } from './process-group.ts'
export { isOwnerAlive, processOwner } from './process-owner.ts'
export type { Sandbox, SandboxDriver } from './sandbox.ts'
export { rewritePaths } from './sandbox-path.ts'
export { sandboxProcessGroup } from './sandbox-process-group.ts'
export type {
  AdapterRoute,
  BootOptions,
  Command,
  DownloadOptions,
  EgressPolicy,
  ExecOptions,
  ExecOutcome,
  ExecOutput,
  FileContent,
  FileOptions,
  ReadFileOptions,
  ReadOnlyMount,
  SandboxCapabilities,
  SandboxLabels,
  SandboxRecord,
  SandboxResources,
  WriteFileOptions,
} from './sandbox-types.ts'
export { type SweepOptions, type SweepReport, sweepOrphans } from './sweep-orphans.ts'
export type { TraceEvent } from './trace.ts'
