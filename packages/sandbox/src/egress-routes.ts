import { join } from 'node:path'
import type { Logger } from '@agentrl/spec'
import { openEgressProxy, proxyEnvironment, proxyPort } from './egress-proxy.ts'
import type { EgressPolicy } from './sandbox-types.ts'

/** A socket of the host that is heard on a port of the sandbox's loopback. */
export interface EgressRoute {
  readonly name: string
  readonly socketPath: string
  readonly port: number
}

/** What an egress policy comes down to for a sandbox without a network. */
export interface EgressRoutes extends AsyncDisposable {
  readonly routes: readonly EgressRoute[]
  /** For every command. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Opens what a policy needs on the host: for listed hosts, a proxy that listens
 * in `folder`. Throws `sandbox_boot_failed`.
 */
export async function openEgressRoutes(egress: EgressPolicy, folder: string, logger: Logger): Promise<EgressRoutes> {
  const adapter = 'adapter' in egress ? egress.adapter : undefined
  const adapterRoutes = adapter === undefined ? [] : [{ name: 'adapter', ...adapter }]
  if (egress.kind !== 'hosts') return { routes: adapterRoutes, env: {}, async [Symbol.asyncDispose]() {} }
  const socketPath = join(folder, 'proxy.sock')
  const proxy = await openEgressProxy({ hosts: egress.hosts, socketPath, logger })
  return {
    routes: [...adapterRoutes, { name: 'proxy', socketPath, port: proxyPort }],
    env: proxyEnvironment(),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}
