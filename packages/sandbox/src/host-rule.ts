import { invalidOption } from './invalid-option.ts'

/** One entry of the host list of an egress policy. */
export interface HostRule {
  readonly host: string
  /** All names below `host`, and not `host` itself. */
  readonly isSuffix: boolean
  readonly ports: readonly number[]
}

/**
 * Reads an entry: `name`, `*.name` or an IP address (IPv6 in brackets), each
 * with or without `:port`. Throws `sandbox_invalid_option`.
 */
export function readHostRule(entry: string): HostRule {
  const [, wildcard, host, port] = /^(\*\.)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?$/.exec(entry) ?? []
  if (host === undefined) {
    throw invalidOption(
      `A host of an egress policy is "name", "*.name" or an address, with or without ":port"; found "${entry}"`,
    )
  }
  return {
    host: host.toLowerCase().replace(/^\[|\]$/g, ''),
    isSuffix: wildcard !== undefined,
    ports: port === undefined ? [80, 443] : [Number(port)],
  }
}

/** Whether a rule allows a host on a port. A dot at the end of a name changes nothing. */
export function matchesHost(rule: HostRule, host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  const isHost = rule.isSuffix ? name.endsWith(`.${rule.host}`) : name === rule.host
  return isHost && rule.ports.includes(port)
}
