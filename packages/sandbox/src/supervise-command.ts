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
}

type Stop = { readonly kind: 'timed_out' | 'overflow' | 'cancelled' }

/** After the exit, output counts as complete when nothing came for this long: a child in the background may keep the pipe. */
const idleMs = 50

/**
 * Keeps a running command within its limits and says how it ended. Whatever
 * ends it early (timeout, overflow, cancellation) ends its whole process group
 * before this resolves. Rejects with `sandbox_survivors` and `sandbox_lost`.
 */
export async function superviseCommand(running: RunningCommand, limits: CommandLimits): Promise<ExecOutcome> {
  const startedAt = performance.now()
  const keep = limits.overflow === 'end' ? 'head' : 'tail'
  const stdout = createOutputCollector(limits.maxOutputBytes, keep)
  const stderr = createOutputCollector(limits.maxOutputBytes, keep)

  let stop: (why: Stop) => void = () => {}
  const stopped = new Promise<Stop>((resolve) => {
    stop = resolve
  })
  const onOverflow = (): void => {
    if (limits.overflow === 'end') stop({ kind: 'overflow' })
  }
  const onAbort = (): void => stop({ kind: 'cancelled' })
  const timer = setTimeout(() => stop({ kind: 'timed_out' }), limits.timeoutMs)
  limits.signal.addEventListener('abort', onAbort, { once: true })
  if (limits.signal.aborted) onAbort()

  const activity = { count: 0 }
  const pumps = Promise.all([
    pump(running.stdout, stdout, activity, onOverflow),
    pump(running.stderr, stderr, activity, onOverflow),
  ])
  try {
    const exited = running.exitCode.then((exitCode) => ({ kind: 'exited' as const, exitCode }))
    const end = await Promise.race([exited, stopped])
    // A second race is lost by design: a rejection of the exit code after a stop has been reported already.
    exited.catch(() => {})
    if (end.kind !== 'exited') await terminateProcessGroup(running.group, { graceMs: limits.graceMs })
    await drain(pumps, activity)
    const output = readOutput(stdout, stderr, performance.now() - startedAt)
    if (end.kind === 'timed_out') return { ...output, kind: 'timed_out', timeoutMs: limits.timeoutMs }
    if (end.kind === 'cancelled') return { ...output, kind: 'cancelled', reason: limits.signal.reason }
    const isOverflow = keep === 'head' && output.omittedBytes.stdout + output.omittedBytes.stderr > 0
    if (end.kind === 'exited' && !isOverflow) return { ...output, kind: 'exited', exitCode: end.exitCode }
    return { ...output, kind: 'overflow', maxOutputBytes: limits.maxOutputBytes }
  } finally {
    clearTimeout(timer)
    limits.signal.removeEventListener('abort', onAbort)
    stdout.close()
    stderr.close()
    running.release()
  }
}

/** Reads a stream to its end, also after the collector is closed: a writer in the background must not meet a broken pipe. */
async function pump(
  stream: AsyncIterable<Uint8Array>,
  collector: OutputCollector,
  activity: { count: number },
  onOverflow: () => void,
): Promise<void> {
  try {
    for await (const chunk of stream) {
      activity.count += 1
      if (collector.push(chunk)) onOverflow()
    }
  } catch {
    // A stream that breaks has ended; how the command ended is said by its exit code.
  }
}

async function drain(pumps: Promise<unknown>, activity: { count: number }): Promise<void> {
  let isDone = false
  const done = pumps.then(() => {
    isDone = true
  })
  let seen = -1
  while (!isDone && seen !== activity.count) {
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
