import { SandboxError } from '@agentrl/spec'

/** The error of an option that is not valid, or that a driver does not support. */
export function invalidOption(message: string): SandboxError {
  return new SandboxError('sandbox_invalid_option', message)
}
