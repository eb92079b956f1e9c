import { isIP } from 'node:net'
import type { NetworkPolicy } from './harbor-task.ts'

/** What task.toml can say about the network, in one of its three places. */
export interface NetworkKeys {
  readonly network_mode?: string | undefined
  readonly allowed_hosts?: readonly string[] | undefined
  /** [environment] only; deprecated. */
  readonly allow_internet?: boolean | undefined
}

const hostLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

function isHostEntry(host: string): boolean {
  const [address = '', prefix, ...more] = host.split('/')
  if (prefix !== undefined) {
    const bits = isIP(address) === 4 ? 32 : 128
    return isIP(address) !== 0 && more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits
  }
  if (isIP(host) !== 0) return true
  const name = host.startsWith('*.') ? host.slice(2) : host
  return isIP(name) === 0 && name.split('.').every((label) => hostLabel.test(label))
}

/**
 * Reads the network keys of one section. Gives null where the section says
 * nothing, and a text where it contradicts itself. `allowed_hosts` alone means
 * an allow-list, as in Harbor before 0.20.
 */
export function readNetworkPolicy(keys: NetworkKeys): NetworkPolicy | null | { readonly problem: string } {
  const mode = keys.network_mode ?? (keys.allowed_hosts && keys.allowed_hosts.length > 0 ? 'allowlist' : undefined)
  const hosts = (keys.allowed_hosts ?? []).map((host) => host.trim().toLowerCase().replace(/\.+$/, ''))
  if (mode === undefined) return keys.allow_internet === false ? { mode: 'no-network' } : null
  if (mode === 'allowlist') {
    const wrong = hosts.find((host) => !isHostEntry(host))
    if (wrong === undefined) return { mode, allowedHosts: hosts }
    return {
      problem: `allowed_hosts: expected a host name, "*.name", an address or a CIDR range, found ${JSON.stringify(wrong)}`,
    }
  }
  if (mode !== 'public' && mode !== 'no-network') {
    return {
      problem: `network_mode: expected "public", "no-network" or "allowlist", found ${JSON.stringify(mode)}`,
    }
  }
  if (hosts.length === 0) return { mode }
  return { problem: `allowed_hosts: allowed only beside network_mode = "allowlist", found network_mode = "${mode}"` }
}
