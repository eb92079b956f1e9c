/**
 * Every error that AgentRL throws on purpose.
 *
 * An error names the boundary that it crossed (engine, sandbox, harness, task,
 * configuration, wire, trajectory) and carries a stable code from the one list
 * below. Codes are API: they are matched by callers and printed in reports,
 * messages are for people and may change. Bugs in our own code stay TypeError
 * and RangeError and are never wrapped.
 *
 * `isAgentRlError` goes by a registered symbol, not by `instanceof`: two copies
 * of this package in one dependency tree still recognise each other's errors.
 */

/** Stable error codes by the boundary that they name, each with its meaning. */
export const errorCodes = {
  engine: {
    engine_unreachable: 'No connection to the inference engine could be made',
    engine_http_error: 'The engine answered with an HTTP error status',
    engine_timeout: 'The engine did not answer within the time allowed',
    engine_bad_response: 'The engine answered with a body that is not what its protocol says',
    engine_missing_logprobs: 'The engine returned token ids without log-probabilities',
    engine_rejected_request: 'The engine refused the request as invalid',
    engine_aborted: 'The engine aborted the request before any token was sampled',
  },
  sandbox: {
    sandbox_boot_failed: 'The sandbox could not be started',
    sandbox_lost: 'The sandbox is gone',
    sandbox_exec_failed: 'A command that had to succeed did not',
    sandbox_file_not_found: 'A file in the sandbox does not exist',
    sandbox_path_outside: 'A path leads out of the sandbox',
    sandbox_invalid_option: 'A sandbox option is not valid or not supported by the driver',
    sandbox_survivors: 'Processes outlived the sandbox that should have ended them',
  },
  harness: {
    harness_unknown: 'No agent of that name exists',
    harness_not_installed: 'The program of the agent was not found',
    harness_failed: 'The agent could not be run',
  },
  task: {
    task_not_found: 'There is no task at that path',
    task_invalid: 'The task directory breaks the Harbor format',
    task_unsupported: 'The task needs a feature that is not supported',
  },
  config: {
    config_invalid: 'A setting has a value that is not allowed',
    config_unknown_key: 'A setting of that name does not exist',
    config_zero_gradient: 'The run could not produce a gradient',
    config_unschedulable: 'The samples can not be spread over the ranks as the parallel configuration asks',
    config_off_policy: 'The run would sample from another distribution than the one that is trained',
  },
  wire: {
    wire_invalid_json: 'A body is not JSON',
    wire_invalid_body: 'A body does not have the shape that its protocol says',
    wire_body_too_large: 'A body is over the size limit',
    wire_unauthorized: 'The key names no session',
    wire_session_closed: 'The session is finished',
    wire_turn_cap: 'The session has used all its turns',
    wire_context_overflow: 'The prompt does not fit into the context window',
    wire_not_found: 'There is no such endpoint',
    wire_internal: 'A server of ours failed on a request in a way that was not foreseen',
    wire_unsupported: 'The request needs a feature that is not supported',
  },
  trajectory: {
    trajectory_invalid_turn: 'A turn breaks an invariant of its type',
    trajectory_not_reconciled: 'The ledger does not add up',
    trajectory_mixed_history: 'A batch mixes samples that keep earlier reasoning with samples that follow the template',
    trajectory_template: 'The chat template could not be rendered',
    trajectory_tokenizer: 'The tokenizer could not be loaded or used',
  },
  value: {
    value_invalid: 'An argument is outside the range that the function accepts',
  },
} as const

type CodesByBoundary = typeof errorCodes

/** The boundaries that an error can name. */
export type ErrorBoundary = keyof CodesByBoundary

/** Every stable error code. */
export type ErrorCode = { [B in ErrorBoundary]: keyof CodesByBoundary[B] & string }[ErrorBoundary]

const marker = Symbol.for('agentrl.error')

/** What an error is made of, besides its code and its message. */
export interface AgentRlErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown
  /** Plain data for a program to read: paths, ids, numbers. Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>
  /** Whether the same call may succeed when it is made again. Default false. */
  readonly isRetryable?: boolean
}

/** The base of all errors that AgentRL throws on purpose. Match on `code`. */
export class AgentRlError extends Error {
  override readonly name: string = 'AgentRlError'
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>
  readonly isRetryable: boolean

  constructor(code: ErrorCode, message: string, options: AgentRlErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
    this.isRetryable = options.isRetryable ?? false
    Object.defineProperty(this, marker, { value: true })
  }
}

type CodeOf<B extends ErrorBoundary> = keyof CodesByBoundary[B] & string

/** The inference engine could not be reached, or answered what it should not. */
export class EngineError extends AgentRlError {
  override readonly name = 'EngineError'
  constructor(code: CodeOf<'engine'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** A sandbox is lost, could not start, or was asked for what it can't do. */
export class SandboxError extends AgentRlError {
  override readonly name = 'SandboxError'
  constructor(code: CodeOf<'sandbox'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** An agent CLI could not be found or run. */
export class HarnessError extends AgentRlError {
  override readonly name = 'HarnessError'
  constructor(code: CodeOf<'harness'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** A task directory is missing, broken, or needs what we don't support. */
export class TaskError extends AgentRlError {
  override readonly name = 'TaskError'
  constructor(code: CodeOf<'task'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** A setting is wrong, unknown, or would waste the run. */
export class ConfigError extends AgentRlError {
  override readonly name = 'ConfigError'
  constructor(code: CodeOf<'config'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** A client of one of our servers sent what we can't serve. */
export class WireError extends AgentRlError {
  override readonly name = 'WireError'
  constructor(code: CodeOf<'wire'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** A turn, a template or a tokenizer breaks what token alignment relies on. */
export class TrajectoryError extends AgentRlError {
  override readonly name = 'TrajectoryError'
  constructor(code: CodeOf<'trajectory'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** An argument of a pure function is outside its range. */
export class ValueError extends AgentRlError {
  override readonly name = 'ValueError'
  constructor(code: CodeOf<'value'>, message: string, options?: AgentRlErrorOptions) {
    super(code, message, options)
  }
}

/** Whether a value is an error of ours, from whichever copy of this package. */
export function isAgentRlError(value: unknown): value is AgentRlError {
  return value instanceof Error && (value as { [marker]?: unknown })[marker] === true
}

/** Text from outside, cut to `maxLength` characters for use in a message. */
export function excerpt(text: string, maxLength = 200): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}… (${text.length} characters)`
}
