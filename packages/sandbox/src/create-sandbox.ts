import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, isAgentRlError, type Logger, SandboxError } from '@agentrl/spec'
import { checkInteger } from './boot-options.ts'
import { commandFiles } from './command-files.ts'
import { commandText, execEvent, failedCommand, redactEvent } from './exec-report.ts'
import { contentOf, createFileCalls } from './file-calls.ts'
import { type PreparedCommand, prepareCommand, prepareLimits } from './prepare-command.ts'
import { createRedactor } from './redact.ts'
import type { Sandbox } from './sandbox.ts'
import type { FileBackend, RunningCommand, SandboxBackend, StartCommand } from './sandbox-backend.ts'
import { normalizeSandboxPath } from './sandbox-path.ts'
import type { Command, ExecOptions, ExecOutcome } from './sandbox-types.ts'
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
  const runningWork = new Set<Promise<unknown>>()
  const redactAlways = createRedactor(backend.options.env)
  const write = (event: TraceEvent, redact = redactAlways): Promise<void> => trace.write(redactEvent(event, redact))
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
    await write({
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
    const startedAt = clock.now()
    let outcome: ExecOutcome
    try {
      outcome = limits.signal.aborted ? cancelledUnstarted(limits.signal) : await runPrepared(prepared, limits)
      if (outcome.kind === 'cancelled' && isLifetimeOver(outcome.reason)) throw outcome.reason
    } catch (error) {
      const durationMs = clock.now() - startedAt
      const failed: TraceEvent = {
        kind: 'exec-failed',
        command: commandText(command),
        durationMs,
        error: String(error),
      }
      await write(failed, redact)
      throw error
    }
    const isFailure = !(outcome.kind === 'exited' && outcome.exitCode === 0)
    if (execOptions.quiet !== true) await write(execEvent(command, prepared.start, outcome), redact)
    if (execOptions.check === true && isFailure) {
      throw failedCommand(command, outcome, redact)
    }
    return outcome
  }

  async function runPrepared(prepared: PreparedCommand, limits: CommandLimits): Promise<ExecOutcome> {
    const start = prepared.kind === 'argv' ? prepared.start : await writeScript(prepared.script, prepared.start)
    return superviseCommand(
      () => startCommand(start),
      limits,
      (late) => {
        tracked(late).catch((error: unknown) =>
          logger.error('a command that started too late did not end', { sandbox: backend.id, error: String(error) }),
        )
      },
    )
  }

  /** Whatever stops a command from starting is the sandbox's failure, a full disk of this machine included. */
  async function startCommand(start: StartCommand): Promise<RunningCommand> {
    try {
      return await backend.start(start)
    } catch (cause) {
      if (isAgentRlError(cause)) throw cause
      throw new SandboxError('sandbox_exec_failed', `A command could not be started: ${String(cause)}`, { cause })
    }
  }

  function isLifetimeOver(reason: unknown): boolean {
    return reason === ending.signal.reason && reason !== disposed
  }

  /** Under a name that nobody can know before: what a command planted in /tmp must not be run, nor written through. */
  async function writeScript(script: string, start: Omit<StartCommand, 'argv'>): Promise<StartCommand> {
    const path = `/tmp/.agentrl-command-${randomBytes(8).toString('hex')}.sh`
    await files.writeFile(path, contentOf(script), { mode: 0o644, signal: ending.signal })
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

  return {
    id: backend.id,
    driver: backend.driver,
    capabilities: backend.capabilities,
    labels: backend.options.labels,
    workdir: backend.options.workdir,
    home: backend.home,
    path: (path) => backend.commandPath(normalizeSandboxPath(path, backend.options.workdir)),
    exec: (command, execOptions) => tracked(exec(command, execOptions)),
    ...createFileCalls({
      files,
      workdir: backend.options.workdir,
      clock,
      ending: ending.signal,
      checkOpen,
      track: tracked,
      trace: (event) => write(event),
    }),
    async extendLifetime(lifetimeMs) {
      checkOpen()
      checkInteger('lifetimeMs', lifetimeMs, 1, backend.capabilities.maxLifetimeMs)
      await backend.extendLifetime?.(lifetimeMs)
      checkOpen()
      clearTimeout(lifetimeTimer)
      lifetimeTimer = startLifetime(lifetimeMs)
    },
    record: (event) => write(event),
    [Symbol.asyncDispose]: () => endOnce(disposed),
  }
}

function cancelledUnstarted(signal: AbortSignal): ExecOutcome {
  const raw = { stdout: new Uint8Array(0), stderr: new Uint8Array(0) }
  const nothing = { stdout: '', stderr: '', raw, omittedBytes: { stdout: 0, stderr: 0 }, durationMs: 0 }
  return { ...nothing, kind: 'cancelled', reason: signal.reason }
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

function lost(message: string): SandboxError {
  return new SandboxError('sandbox_lost', message)
}
