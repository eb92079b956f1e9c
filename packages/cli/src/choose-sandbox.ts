import { dirname, isAbsolute, join } from 'node:path'
import type { Adapter } from '@agentrl/core/adapter'
import type { Harness } from '@agentrl/harnesses'
import {
  createBubblewrapDriver,
  createLocalDriver,
  type EgressPolicy,
  type ReadOnlyMount,
  type SandboxDriver,
} from '@agentrl/sandbox'
import { ConfigError } from '@agentrl/spec'

export const sandboxNames: readonly string[] = ['bubblewrap', 'local']

/** Where attempts run, what they may reach, and where they find the adapter. */
export interface SandboxChoice {
  readonly driver: SandboxDriver
  readonly egress: EgressPolicy
  readonly adapterUrl: string
  readonly mounts: readonly ReadOnlyMount[]
}

export interface SandboxWish {
  /** Undefined: bubblewrap, but local for the stand-in, which runs nobody's code but ours. */
  readonly name: string | undefined
  readonly isScripted: boolean
  readonly harness: Harness
  readonly agentProgram: string | undefined
  readonly runDirectory: string
}

/** The port at which a sandbox of its own network hears the adapter. */
const insidePort = 18_001

/** Chooses the driver and lets the adapter listen where it will be looked for. Throws `config_invalid`. */
export async function chooseSandbox(wish: SandboxWish, adapter: Adapter): Promise<SandboxChoice> {
  const name = wish.name ?? (wish.isScripted ? 'local' : 'bubblewrap')
  if (name === 'local') {
    return {
      driver: createLocalDriver(),
      egress: { kind: 'open' },
      adapterUrl: await adapter.listenTcp(),
      mounts: [],
    }
  }
  if (name !== 'bubblewrap') {
    throw new ConfigError('config_invalid', `There is no sandbox "${name}"; known: ${sandboxNames.join(', ')}`)
  }
  const driver = createBubblewrapDriver()
  if (wish.harness.runsIn === 'host') {
    return { driver, egress: { kind: 'none' }, adapterUrl: await adapter.listenTcp(), mounts: [] }
  }
  const socketPath = join(wish.runDirectory, 'adapter.sock')
  await adapter.listenUnix(socketPath)
  return {
    driver,
    egress: { kind: 'adapter', adapter: { socketPath, port: insidePort } },
    adapterUrl: `http://127.0.0.1:${insidePort}`,
    mounts: programMounts(wish.agentProgram),
  }
}

/** A program of the host is visible inside at its own path. */
function programMounts(program: string | undefined): readonly ReadOnlyMount[] {
  if (program === undefined || !isAbsolute(program)) return []
  return [{ hostPath: dirname(program), path: dirname(program) }]
}
