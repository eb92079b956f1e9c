import { excerpt, SandboxError } from '@agentrl/spec'
import { AuthenticationError, CommandExitError, InvalidArgumentError, NotFoundError, RateLimitError } from 'e2b'

/**
 * What went wrong between here and a sandbox that was there. The SDK's own
 * words don't tell: it calls every 502 and 503 a sandbox that is "probably not
 * running anymore". `isAlive` finds out.
 */
export async function callError(error: unknown, what: string, isAlive: () => Promise<boolean>): Promise<SandboxError> {
  if (error instanceof SandboxError) return error
  const message = `Could not ${what}: ${messageOf(error)}`
  if (error instanceof AuthenticationError || error instanceof InvalidArgumentError) {
    const code = /user/i.test(messageOf(error)) ? 'sandbox_invalid_option' : 'sandbox_exec_failed'
    return new SandboxError(code, message, { cause: error })
  }
  if (!(await isAlive())) return new SandboxError('sandbox_lost', message, { cause: error })
  // A command of ours that fails for a reason of its own will fail again.
  const isRetryable = !(error instanceof CommandExitError && error.exitCode > 0 && error.exitCode < 128)
  return new SandboxError('sandbox_exec_failed', message, { cause: error, isRetryable })
}

/** Why a sandbox was not created. What is not known to be permanent may be tried again. */
export function bootError(error: unknown, template: string): SandboxError {
  if (error instanceof SandboxError) return error
  const isPermanent =
    error instanceof AuthenticationError || error instanceof InvalidArgumentError || error instanceof NotFoundError
  const status = Number(/^(\d{3}):/.exec(messageOf(error))?.[1])
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429
  return new SandboxError(
    'sandbox_boot_failed',
    `No sandbox of template "${template}" was created: ${messageOf(error)}`,
    {
      cause: error,
      isRetryable: error instanceof RateLimitError || !(isPermanent || isRefused),
    },
  )
}

function messageOf(error: unknown): string {
  if (error instanceof CommandExitError) return `exit code ${error.exitCode}: ${excerpt(error.stderr.trim())}`
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}
