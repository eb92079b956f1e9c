import { excerpt, SandboxError } from '@agentrl/spec'
import type { Redact } from './redact.ts'
import type { Command, ExecOutcome } from './sandbox-types.ts'
import type { TraceEvent } from './trace.ts'

/** The end of output that a trace line holds, for each stream. */
const traceTailBytes = 2_000

/** A command for a trace line or a message. */
export function showCommand(command: Command): string {
  return excerpt(typeof command === 'string' ? command : command.join(' '), 2_000)
}

/** The trace line of a command that has ended. */
export function execEvent(
  command: string,
  start: { cwd: string; user?: string },
  outcome: ExecOutcome,
  redact: Redact,
): TraceEvent {
  const { raw, omittedBytes } = outcome
  const tail = (bytes: Uint8Array): string => redact(Buffer.from(bytes.slice(-traceTailBytes)).toString('utf8'))
  return {
    kind: 'exec-end',
    command,
    ...(start.user === undefined ? {} : { user: start.user }),
    cwd: start.cwd,
    outcome: outcome.kind,
    ...(outcome.kind === 'exited' ? { exitCode: outcome.exitCode } : {}),
    durationMs: outcome.durationMs,
    stdoutTail: tail(raw.stdout),
    stderrTail: tail(raw.stderr),
    stdoutBytes: raw.stdout.length + omittedBytes.stdout,
    stderrBytes: raw.stderr.length + omittedBytes.stderr,
  }
}

/** The error of a command that had to succeed. */
export function failedCommand(command: string, outcome: ExecOutcome, redact: Redact): SandboxError {
  const how = outcome.kind === 'exited' ? `exited with ${outcome.exitCode}` : `ended as ${outcome.kind}`
  const stderrTail = redact(outcome.stderr.slice(-500))
  return new SandboxError('sandbox_exec_failed', `The command "${excerpt(command)}" ${how}: ${excerpt(stderrTail)}`, {
    details: {
      outcome: outcome.kind,
      exitCode: outcome.kind === 'exited' ? outcome.exitCode : null,
      stdoutTail: redact(outcome.stdout.slice(-500)),
      stderrTail,
    },
  })
}
