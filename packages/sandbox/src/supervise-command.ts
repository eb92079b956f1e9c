import { setImmediate as afterPoll, setTimeout as delay } from 'node:timers/promises'
import { createOutputCollector, type OutputCollector } from './output-collector.ts'
import { terminateProcessGroup } from './process-group.ts'
import type { RunningCommand } from './sandbox-backend.ts'
import type { ExecOutcome, ExecOutput } from './sandbox-types.ts'

/** The limits of one command, each with its value. */
export interface CommandLimits {
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  readonly overflow: 'end' | 'keep-tail'
  readonly graceMs: number
  readonly signal: AbortSignal
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void
}

type Stop = { readonly kind: 'timed_out' | 'overflow' | 'cancelled' }
type End = Stop | { readonly kind: 'exited'; readonly exitCode: number }

/** After the exit, output counts as complete when nothing came for this long: a child in the background may keep the pipe. */
const idleMs = 50
/** And at the latest after this long. */
const maxDrainMs = 2_000

/**
 * Starts a command, keeps it within its limits and says how it ended. Whatever
 * ends it early (timeout, overflow, cancellation) ends its whole process group
 * before this resolves. Rejects with the error of a start that fails, and with
 * `sandbox_survivors` and `sandbox_lost`.
 *
 * A start that hangs is over soon after the timeout as well. Should it come
 * about after all, the command is ended at once; `onLate` is given that work.
 */
export async function superviseCommand(
  start: () => Promise<RunningCommand>,
  limits: CommandLimits,
  onLate: (work: Promise<void>) => void,
  lateStartMs: number = 5_000,
): Promise<ExecOutcome> {
  const startedAt = performance.now()
  const keep = limits.overflow === 'end' ? 'head' : 'tail'
  const stdout = createOutputCollector(limits.maxOutputBytes, keep)
  const stderr = createOutputCollector(limits.maxOutputBytes, keep)
  const { stopped, stop, close } = watchLimits(limits)
  let isSettled = false
  let hearingFailure: { readonly error: unknown } | undefined
  const hear: CommandLimits['onOutput'] = (stream, chunk) => {
    try {
      limits.onOutput(stream, chunk)
    } catch (error) {
      hearingFailure ??= { error }
      stop({ kind: 'cancelled' })
    }
  }
  const settle = (end: End): ExecOutcome => describeEnd(end, limits, stdout, stderr, performance.now() - startedAt)
  try {
    const starting = start()
    const running = await Promise.race([starting, stopped.then(() => delay(lateStartMs, undefined, { ref: false }))])
    if (running === undefined) {
      onLate(endLateCommand(starting, limits))
      return settle(await stopped)
    }
    const activity = { count: 0 }
    const take = (name: 'stdout' | 'stderr', collector: OutputCollector) => (chunk: Uint8Array) => {
      activity.count += 1
      const isOver = collector.push(chunk)
      if (!isSettled) hear(name, chunk)
      if (isOver && limits.overflow === 'end') stop({ kind: 'overflow' })
    }
    const pumps = Promise.all([
      pump(running.stdout, take('stdout', stdout)),
      pump(running.stderr, take('stderr', stderr)),
    ])
    const exited = running.exitCode.then((exitCode) => ({ kind: 'exited' as const, exitCode }))
    // When a limit wins the race, nobody waits for the exit any more.
    exited.catch(() => {})
    try {
      const end = await Promise.race([exited, stopped])
      if (end.kind !== 'exited') await terminateProcessGroup(running.group, { graceMs: limits.graceMs })
      await drain(pumps, activity)
      if (hearingFailure !== undefined) throw hearingFailure.error
      return settle(running.isOverfull?.() === true ? { kind: 'overflow' } : end)
    } finally {
      running.release()
    }
  } finally {
    isSettled = true
    close()
    stdout.close()
    stderr.close()
  }
}

/** Resolves at the first reason to end a command early. */
function watchLimits({ timeoutMs, signal }: CommandLimits): {
  readonly stopped: Promise<Stop>
  stop(why: Stop): void
  close(): void
} {
  let stop: (why: Stop) => void = () => {}
  const stopped = new Promise<Stop>((resolve) => {
    stop = resolve
  })
  const onAbort = (): void => stop({ kind: 'cancelled' })
  const timer = setTimeout(() => stop({ kind: 'timed_out' }), timeoutMs)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  return {
    stopped,
    stop: (why) => stop(why),
    close() {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    },
  }
}

async function endLateCommand(starting: Promise<RunningCommand>, { graceMs }: CommandLimits): Promise<void> {
  const running = await starting.catch(() => undefined)
  if (running === undefined) return
  await terminateProcessGroup(running.group, { graceMs })
  running.release()
}

function describeEnd(
  end: End,
  limits: CommandLimits,
  stdout: OutputCollector,
  stderr: OutputCollector,
  durationMs: number,
): ExecOutcome {
  const output = readOutput(stdout, stderr, durationMs)
  if (end.kind === 'timed_out') return { ...output, kind: 'timed_out', timeoutMs: limits.timeoutMs }
  if (end.kind === 'cancelled') return { ...output, kind: 'cancelled', reason: limits.signal.reason }
  const isOverflow = limits.overflow === 'end' && output.omittedBytes.stdout + output.omittedBytes.stderr > 0
  if (end.kind === 'exited' && !isOverflow) return { ...output, kind: 'exited', exitCode: end.exitCode }
  return { ...output, kind: 'overflow', maxOutputBytes: limits.maxOutputBytes }
}

/** Reads a stream to its end, also after the command is settled: a writer in the background must not meet a broken pipe. */
async function pump(stream: AsyncIterable<Uint8Array>, take: (chunk: Uint8Array) => void): Promise<void> {
  try {
    for await (const chunk of stream) take(chunk)
  } catch {
    // A stream that breaks has ended; how the command ended is said by its exit code.
  }
}

/** Waits for the rest of the output; a child in the background that keeps writing is not waited for. */
async function drain(pumps: Promise<unknown>, activity: { count: number }): Promise<void> {
  const endsAt = performance.now() + maxDrainMs
  let isDone = false
  const done = pumps.then(() => {
    isDone = true
  })
  let seen = -1
  while (!isDone && seen !== activity.count && performance.now() < endsAt) {
    seen = activity.count
    await Promise.race([done, delay(idleMs).then(() => afterPoll())])
  }
}

function readOutput(stdout: OutputCollector, stderr: OutputCollector, durationMs: number): ExecOutput {
  const raw = { stdout: stdout.bytes(), stderr: stderr.bytes() }
  const decoder = new TextDecoder()
  return {
    stdout: decoder.decode(raw.stdout),
    stderr: decoder.decode(raw.stderr),
    raw,
    omittedBytes: { stdout: stdout.omittedBytes(), stderr: stderr.omittedBytes() },
    durationMs: Math.round(durationMs),
  }
}
