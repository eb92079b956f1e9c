import { createLocalDriver, type SandboxDriver } from '@agentrl/sandbox'
import { ConfigError } from '@agentrl/spec'

export const sandboxNames: readonly string[] = ['local']

/** The driver of a name. Throws `config_invalid`. */
export function chooseSandbox(name: string): SandboxDriver {
  if (name === 'local') return createLocalDriver()
  throw new ConfigError('config_invalid', `There is no sandbox "${name}"; known: ${sandboxNames.join(', ')}`)
}
