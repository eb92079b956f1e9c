import { access } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, type Logger, SandboxError } from '@agentrl/spec'
import { checkInteger } from './boot-options.ts'
import { commandFiles } from './command-files.ts'
import { execEvent, failedCommand, showCommand } from './exec-report.ts'
import { type PreparedCommand, prepareCommand, prepareLimits } from './prepare-command.ts'
import { createRedactor, type Redact } from './redact.ts'
import type { Sandbox } from './sandbox.ts'
import type { FileBackend, FileCall, SandboxBackend, StartCommand } from './sandbox-backend.ts'
import { normalizeSandboxPath } from './sandbox-path.ts'
import type { Command, ExecOptions, ExecOutcome, FileOptions } from './sandbox-types.ts'
import { type CommandLimits, superviseCommand } from './supervise-command.ts'
import type { Trace, TraceEvent } from './trace.ts'

type FileEvent = Omit<
  Extract<TraceEvent, { readonly kind: 'file-write' | 'file-read' | 'file-upload' | 'file-download' }>,
  'durationMs'
>
type FileWork<T> = (path: string, call: FileCall) => Promise<T>

/** A file call that takes longer waits for something that will not come. */
const maxFileCallMs = 600_000

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
  const runningWork = new Set<Promise<unknown>>()
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

  /** What runs has been told to end, and gets a while for it; then the backend ends everything anyway. */
  async function endAll(): Promise<void> {
    const patience = new AbortController()
    await Promise.race([
      Promise.allSettled(runningWork),
      delay(disposeTimeoutMs / 2, undefined, { signal: patience.signal, ref: false }).catch(() => {}),
    ])
    patience.abort()
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
    await files.writeFile(path, chunks(Buffer.from(script)), { mode: 0o644, signal: ending.signal })
    return { ...start, argv: ['/bin/sh', backend.commandPath(path)] }
  }

  const disposed = lost(`Sandbox ${backend.id} has ended: it was disposed of`)

  async function tracked<T>(work: Promise<T>): Promise<T> {
    runningWork.add(work)
    try {
      return await work
    } finally {
      runningWork.delete(work)
    }
  }

  /** Makes a file call that ends with the sandbox, with its caller's signal, and after ten minutes. */
  async function fileCall<T>(path: string, fileOptions: FileOptions, make: FileWork<T>): Promise<T> {
    checkOpen(fileOptions.signal)
    const normal = normalizeSandboxPath(path, backend.options.workdir)
    const given = fileOptions.signal === undefined ? [] : [fileOptions.signal]
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(maxFileCallMs), ...given])
    const call: FileCall = fileOptions.user === undefined ? { signal } : { user: fileOptions.user, signal }
    try {
      return await tracked(make(normal, call))
    } catch (error) {
      if (signal.aborted && !ending.signal.aborted && fileOptions.signal?.aborted !== true) throw tooLong(path)
      throw signal.aborted ? signal.reason : error
    }
  }

  /** The same, with a line in the trace. */
  async function tracedFileCall<T>(event: FileEvent, fileOptions: FileOptions, make: FileWork<T>): Promise<T> {
    checkOpen(fileOptions.signal)
    const startedAt = clock.now()
    const write = (error?: unknown): Promise<void> =>
      trace.write({
        ...event,
        durationMs: clock.now() - startedAt,
        ...(error === undefined ? {} : { error: String(error) }),
      })
    try {
      const result = await fileCall(event.path, fileOptions, make)
      await write()
      return result
    } catch (error) {
      await write(error)
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
      tracedFileCall({ kind: 'file-write', path }, fileOptions, (normal, call) => {
        const bytes = typeof content === 'string' ? Buffer.from(content) : content
        return files.writeFile(normal, chunks(bytes), { ...call, mode: fileOptions.mode ?? 0o644 })
      }),
    readFile: (path, fileOptions = {}) =>
      tracedFileCall({ kind: 'file-read', path }, fileOptions, (normal, call) =>
        files.readFile(normal, { ...call, maxBytes: fileOptions.maxBytes ?? 64 * 1024 * 1024 }),
      ),
    exists: (path, fileOptions = {}) => fileCall(path, fileOptions, (normal, call) => files.exists(normal, call)),
    upload: (hostPath, path, fileOptions = {}) =>
      tracedFileCall({ kind: 'file-upload', path, hostPath }, fileOptions, async (normal, call) => {
        await access(hostPath).catch((cause: unknown) => {
          throw new SandboxError('sandbox_file_not_found', `There is no ${hostPath} on this machine`, { cause })
        })
        await files.upload(hostPath, normal, call)
      }),
    download: (path, hostPath, fileOptions = {}) =>
      tracedFileCall({ kind: 'file-download', path, hostPath }, fileOptions, (normal, call) =>
        files.download(normal, hostPath, call),
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

function tooLong(path: string): SandboxError {
  return new SandboxError('sandbox_exec_failed', `The file call for ${path} took longer than ${maxFileCallMs} ms`)
}

function lost(message: string): SandboxError {
  return new SandboxError('sandbox_lost', message)
}
