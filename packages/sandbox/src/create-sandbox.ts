import { type Clock, type Logger, SandboxError } from '@agentrl/spec'
import { checkInteger } from './boot-options.ts'
import { commandFiles } from './command-files.ts'
import { execEvent, failedCommand, showCommand } from './exec-report.ts'
import { type PreparedCommand, prepareCommand, prepareLimits } from './prepare-command.ts'
import { createRedactor, type Redact } from './redact.ts'
import type { Sandbox } from './sandbox.ts'
import type { FileBackend, SandboxBackend, StartCommand } from './sandbox-backend.ts'
import { normalizeSandboxPath } from './sandbox-path.ts'
import type { Command, ExecOptions, ExecOutcome, FileOptions } from './sandbox-types.ts'
import { type CommandLimits, superviseCommand } from './supervise-command.ts'
import type { Trace, TraceEvent } from './trace.ts'

export interface CreateSandboxOptions {
  readonly trace: Trace
  readonly clock: Clock
  readonly logger: Logger
  /** How long disposal may take before it fails. Default 30,000. */
  readonly disposeTimeoutMs?: number
}

/**
 * Makes a `Sandbox` of what a driver provides. One place for all drivers checks
 * options, keeps limits, writes the trace, ends running commands on disposal
 * and ends the sandbox when its life is over.
 */
export function createSandbox(backend: SandboxBackend, options: CreateSandboxOptions): Sandbox {
  const { trace, clock, logger, disposeTimeoutMs = 30_000 } = options
  const files: FileBackend = backend.files ?? commandFiles(backend)
  const ending = new AbortController()
  const runningExecs = new Set<Promise<unknown>>()
  let ended: Promise<void> | undefined
  let lifetimeTimer = startLifetime(backend.options.lifetimeMs)

  function startLifetime(lifetimeMs: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      const reason = lost(`Sandbox ${backend.id} has ended: its life of ${lifetimeMs} ms is over`)
      endOnce(reason).catch((error: unknown) =>
        logger.error('a sandbox whose life is over did not end', { sandbox: backend.id, error: String(error) }),
      )
    }, lifetimeMs)
    return timer.unref()
  }

  function endOnce(reason: SandboxError): Promise<void> {
    ended ??= end(reason)
    return ended
  }

  async function end(reason: SandboxError): Promise<void> {
    const startedAt = clock.now()
    clearTimeout(lifetimeTimer)
    ending.abort(reason)
    const failure = await withTimeLimit(endAll(), disposeTimeoutMs, backend.id).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    const durationMs = clock.now() - startedAt
    await trace.write({
      kind: 'sandbox-end',
      durationMs,
      ...(failure === undefined ? {} : { error: String(failure.error) }),
    })
    if (failure !== undefined) throw failure.error
  }

  async function endAll(): Promise<void> {
    await Promise.allSettled(runningExecs)
    await backend.end()
  }

  function checkOpen(signal?: AbortSignal): void {
    if (ending.signal.aborted) throw ending.signal.reason
    signal?.throwIfAborted()
  }

  async function exec(command: Command, execOptions: ExecOptions = {}): Promise<ExecOutcome> {
    checkOpen()
    const signals = [ending.signal, ...(execOptions.signal === undefined ? [] : [execOptions.signal])]
    const limits = prepareLimits(execOptions, AbortSignal.any(signals))
    const prepared = prepareCommand(command, execOptions, backend)
    const redact = createRedactor({ ...backend.options.env, ...execOptions.env })
    const shown = redact(showCommand(command))
    const startedAt = clock.now()
    let outcome: ExecOutcome
    try {
      outcome = limits.signal.aborted ? cancelledUnstarted(limits.signal) : await runPrepared(prepared, limits)
      if (outcome.kind === 'cancelled' && isLifetimeOver(outcome.reason)) throw outcome.reason
    } catch (error) {
      await trace.write({
        kind: 'exec-failed',
        command: shown,
        durationMs: clock.now() - startedAt,
        error: redact(String(error)),
      })
      throw error
    }
    const isFailure = !(outcome.kind === 'exited' && outcome.exitCode === 0)
    if (execOptions.quiet !== true) await trace.write(execEvent(shown, prepared.start, outcome, redact))
    if (execOptions.check === true && isFailure) {
      throw failedCommand(shown, outcome, redact)
    }
    return outcome
  }

  async function runPrepared(prepared: PreparedCommand, limits: CommandLimits): Promise<ExecOutcome> {
    const start = prepared.kind === 'argv' ? prepared.start : await writeScript(prepared.script, prepared.start)
    return superviseCommand(
      () => backend.start(start),
      limits,
      (late) => {
        tracked(late).catch((error: unknown) =>
          logger.error('a command that started too late did not end', { sandbox: backend.id, error: String(error) }),
        )
      },
    )
  }

  function isLifetimeOver(reason: unknown): boolean {
    return reason === ending.signal.reason && reason !== disposed
  }

  let scriptCount = 0
  async function writeScript(script: string, start: Omit<StartCommand, 'argv'>): Promise<StartCommand> {
    scriptCount += 1
    const path = `/tmp/.agentrl-command-${scriptCount}.sh`
    await files.writeFile(path, chunks(Buffer.from(script)), { mode: 0o644 })
    return { ...start, argv: ['/bin/sh', backend.commandPath(path)] }
  }

  const disposed = lost(`Sandbox ${backend.id} has ended: it was disposed of`)

  async function tracked<T>(work: Promise<T>): Promise<T> {
    runningExecs.add(work)
    try {
      return await work
    } finally {
      runningExecs.delete(work)
    }
  }

  async function fileCall<T>(
    event: { kind: 'file-write' | 'file-read' | 'file-upload' | 'file-download'; path: string; hostPath?: string },
    call: (path: string) => Promise<T>,
    { signal }: FileOptions = {},
  ): Promise<T> {
    checkOpen(signal)
    const startedAt = clock.now()
    const line = (error?: unknown): TraceEvent => ({
      ...event,
      durationMs: clock.now() - startedAt,
      ...(error === undefined ? {} : { error: String(error) }),
    })
    try {
      const result = await tracked(call(normalizeSandboxPath(event.path, backend.options.workdir)))
      await trace.write(line())
      return result
    } catch (error) {
      await trace.write(line(error))
      throw error
    }
  }

  return {
    id: backend.id,
    driver: backend.driver,
    capabilities: backend.capabilities,
    labels: backend.options.labels,
    workdir: backend.options.workdir,
    home: backend.home,
    path: (path) => backend.commandPath(normalizeSandboxPath(path, backend.options.workdir)),
    exec: (command, execOptions) => tracked(exec(command, execOptions)),
    writeFile: (path, content, fileOptions = {}) =>
      fileCall(
        { kind: 'file-write', path },
        (normal) =>
          files.writeFile(normal, chunks(typeof content === 'string' ? Buffer.from(content) : content), {
            ...fileOptions,
            mode: fileOptions.mode ?? 0o644,
          }),
        fileOptions,
      ),
    readFile: (path, fileOptions = {}) =>
      fileCall(
        { kind: 'file-read', path },
        (normal) => files.readFile(normal, { ...fileOptions, maxBytes: fileOptions.maxBytes ?? 64 * 1024 * 1024 }),
        fileOptions,
      ),
    async exists(path, fileOptions = {}) {
      checkOpen(fileOptions.signal)
      return tracked(files.exists(normalizeSandboxPath(path, backend.options.workdir), fileOptions))
    },
    upload: (hostPath, path, fileOptions) =>
      fileCall(
        { kind: 'file-upload', path, hostPath },
        (normal) => files.upload(hostPath, normal, fileOptions ?? {}),
        fileOptions,
      ),
    download: (path, hostPath, fileOptions) =>
      fileCall(
        { kind: 'file-download', path, hostPath },
        (normal) => files.download(normal, hostPath, fileOptions ?? {}),
        fileOptions,
      ),
    async extendLifetime(lifetimeMs) {
      checkOpen()
      checkInteger('lifetimeMs', lifetimeMs, 1, 86_400_000)
      await backend.extendLifetime?.(lifetimeMs)
      checkOpen()
      clearTimeout(lifetimeTimer)
      lifetimeTimer = startLifetime(lifetimeMs)
    },
    record: (event) => trace.write(redactEvent(event, createRedactor(backend.options.env))),
    [Symbol.asyncDispose]: () => endOnce(disposed),
  }
}

function cancelledUnstarted(signal: AbortSignal): ExecOutcome {
  const raw = { stdout: new Uint8Array(0), stderr: new Uint8Array(0) }
  const nothing = { stdout: '', stderr: '', raw, omittedBytes: { stdout: 0, stderr: 0 }, durationMs: 0 }
  return { ...nothing, kind: 'cancelled', reason: signal.reason }
}

function redactEvent(event: TraceEvent, redact: Redact): TraceEvent {
  const redacted = Object.entries(event).map(([name, value]) => [
    name,
    typeof value === 'string' ? redact(value) : value,
  ])
  return Object.fromEntries(redacted) as TraceEvent
}

async function withTimeLimit(work: Promise<void>, limitMs: number, id: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new SandboxError('sandbox_survivors', `Sandbox ${id} did not end within ${limitMs} ms`)),
      limitMs,
    )
  })
  try {
    await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
    // When the limit came first, the late end of the work has been reported as its failure.
    work.catch(() => {})
  }
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function lost(message: string): SandboxError {
  return new SandboxError('sandbox_lost', message)
}
