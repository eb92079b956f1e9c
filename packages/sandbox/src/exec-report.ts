import { excerpt, SandboxError } from '@agentrl/spec'
import type { Redact } from './redact.ts'
import type { Command, ExecOutcome } from './sandbox-types.ts'
import type { TraceEvent } from './trace.ts'

/** The most of a command, and of the end of each output, that a trace line holds. */
const shownLength = 2_000
/** The end of an output that is looked through for secrets; when it is not all, it may begin with a part of one. */
const searchedBytes = 256 * 1024
const longestSecret = 32 * 1024

/** The trace line of a command that has ended, to be cut by `redactEvent`. */
export function execEvent(command: Command, start: { cwd: string; user?: string }, outcome: ExecOutcome): TraceEvent {
  const { raw, omittedBytes } = outcome
  return {
    kind: 'exec-end',
    command: commandText(command),
    ...(start.user === undefined ? {} : { user: start.user }),
    cwd: start.cwd,
    outcome: outcome.kind,
    ...(outcome.kind === 'exited' ? { exitCode: outcome.exitCode } : {}),
    durationMs: outcome.durationMs,
    stdoutTail: searchedTail(raw.stdout),
    stderrTail: searchedTail(raw.stderr),
    stdoutBytes: raw.stdout.length + omittedBytes.stdout,
    stderrBytes: raw.stderr.length + omittedBytes.stderr,
  }
}

export function commandText(command: Command): string {
  return typeof command === 'string' ? command : command.join(' ')
}

/** An event without secrets. */
export function redactTexts(event: TraceEvent, redact: Redact): TraceEvent {
  const texts = Object.entries(event).map(([name, value]) => [name, typeof value === 'string' ? redact(value) : value])
  return Object.fromEntries(texts) as TraceEvent
}

/** An event as a trace holds it: without secrets, and cut after that, since half a secret is not known as one. */
export function redactEvent(event: TraceEvent, redact: Redact): TraceEvent {
  const redacted = redactTexts(event, redact)
  if (redacted.kind === 'exec-failed') return { ...redacted, command: excerpt(redacted.command, shownLength) }
  if (redacted.kind !== 'exec-end') return redacted
  return {
    ...redacted,
    command: excerpt(redacted.command, shownLength),
    stdoutTail: cutTail(redacted.stdoutTail, redacted.stdoutBytes, shownLength),
    stderrTail: cutTail(redacted.stderrTail, redacted.stderrBytes, shownLength),
  }
}

function searchedTail(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(-searchedBytes)).toString('utf8')
}

function cutTail(redacted: string, sizeBytes: number, length: number): string {
  return (sizeBytes > searchedBytes ? redacted.slice(longestSecret) : redacted).slice(-length)
}

/** The error of a command that had to succeed. */
export function failedCommand(command: Command, outcome: ExecOutcome, redact: Redact): SandboxError {
  const how = outcome.kind === 'exited' ? `exited with ${outcome.exitCode}` : `ended as ${outcome.kind}`
  const shown = excerpt(redact(commandText(command)))
  const tail = (bytes: Uint8Array): string => cutTail(redact(searchedTail(bytes)), bytes.length, 500)
  const stderrTail = tail(outcome.raw.stderr)
  return new SandboxError('sandbox_exec_failed', `The command "${shown}" ${how}: ${excerpt(stderrTail)}`, {
    details: {
      outcome: outcome.kind,
      exitCode: outcome.kind === 'exited' ? outcome.exitCode : null,
      stdoutTail: tail(outcome.raw.stdout),
      stderrTail,
    },
  })
}
