import { excerpt, SandboxError } from '@agentrl/spec'

/** The status of an answer of the API server; undefined: it did not answer. */
export function statusOf(error: unknown): number | undefined {
  const status = (error as { code?: unknown } | null)?.code
  return typeof status === 'number' ? status : undefined
}

/** What the API server said, or what became of the connection. */
export function reasonOf(error: unknown): string {
  const { body, message } = error as { body?: unknown; message?: unknown }
  const said = messageOf(typeof body === 'string' ? readJson(body) : body)
  return excerpt(String(said ?? message ?? error).trim())
}

function messageOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An error of a call for a sandbox that was there: it is gone, or the API server could not be reached. */
export function callError(error: unknown, what: string): SandboxError {
  if (error instanceof SandboxError) return error
  const status = statusOf(error)
  const message = `Could not ${what}: ${reasonOf(error)}`
  if (status === 404) return new SandboxError('sandbox_lost', message, { cause: error })
  return new SandboxError('sandbox_exec_failed', message, { cause: error, isRetryable: isPassing(status) })
}

/** An error of a boot; what a command of the boot met is one too. */
export function bootError(error: unknown): SandboxError {
  if (error instanceof SandboxError) {
    const { code, message, isRetryable } = error
    if (code !== 'sandbox_exec_failed' && code !== 'sandbox_lost') return error
    return new SandboxError('sandbox_boot_failed', message, { cause: error, isRetryable })
  }
  const status = statusOf(error)
  const reason = reasonOf(error)
  const what = status === undefined ? 'The API server can not be reached' : `The API server answered ${status}`
  // A quota is free again when other pods end.
  const isRetryable = isPassing(status) || /exceeded quota/.test(reason)
  return new SandboxError('sandbox_boot_failed', `${what}: ${reason}`, { cause: error, isRetryable })
}

/** Without a status the connection failed; 429 and 5xx are the server's own trouble. Either may pass. */
function isPassing(status: number | undefined): boolean {
  return status === undefined || status === 429 || status >= 500
}
