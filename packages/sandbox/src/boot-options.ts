import { isAbsolute } from 'node:path'
import { excerpt } from '@agentrl/spec'
import { readHostRule } from './host-rule.ts'
import { invalidOption } from './invalid-option.ts'
import { processOwner } from './process-owner.ts'
import { normalizeSandboxPath } from './sandbox-path.ts'
import type { BootOptions, SandboxCapabilities, SandboxLabels } from './sandbox-types.ts'

/** Boot options with every default in place, checked against what the driver can do. */
export interface ResolvedBootOptions
  extends Omit<BootOptions, 'labels' | 'env' | 'inheritEnv' | 'workdir' | 'lifetimeMs' | 'mounts' | 'resources'>,
    Required<Pick<BootOptions, 'workdir' | 'lifetimeMs' | 'mounts' | 'resources'>> {
  readonly labels: SandboxLabels
  /** What was given and what was copied from the host, nothing else. */
  readonly env: Readonly<Record<string, string>>
}

export interface DriverDescription {
  readonly name: string
  readonly capabilities: SandboxCapabilities
  /** Names copied from the host's environment when the caller names none. */
  readonly inheritEnv?: readonly string[]
}

/** A day: what the drivers that know no gateway grant. */
export const maxLifetimeMs: number = 86_400_000

/** Checks boot options and fills in the defaults. Throws `sandbox_invalid_option`. */
export function resolveBootOptions(options: BootOptions, driver: DriverDescription): ResolvedBootOptions {
  const { capabilities } = driver
  const refuse = (what: string): never => {
    throw invalidOption(`The ${driver.name} driver ${what}`)
  }
  if (!capabilities.egress.includes(options.egress.kind)) {
    refuse(`can't enforce the egress policy "${options.egress.kind}"; it enforces: ${capabilities.egress.join(', ')}`)
  }
  if (options.image !== undefined && !capabilities.hasImages) refuse(`has no images; found image "${options.image}"`)
  if (options.resources !== undefined && !capabilities.hasResources) refuse('can not limit resources')
  if (options.mounts !== undefined && options.mounts.length > 0 && !capabilities.hasMounts) refuse('has no mounts')
  const labels = {
    owner: options.labels.owner ?? processOwner(),
    run: options.labels.run,
    attempt: options.labels.attempt,
  }
  for (const [name, value] of Object.entries(labels)) checkLabel(name, value)
  const adapter = 'adapter' in options.egress ? options.egress.adapter : undefined
  if (adapter !== undefined) {
    checkHostPath('egress.adapter.socketPath', adapter.socketPath)
    checkInteger('egress.adapter.port', adapter.port, 1, 65_535)
  }
  if (options.egress.kind === 'hosts') for (const host of options.egress.hosts) readHostRule(host)
  for (const mount of options.mounts ?? []) checkHostPath('mounts.hostPath', mount.hostPath)
  checkResources(options.resources ?? {})
  const lifetimeMs = options.lifetimeMs ?? Math.min(3_600_000, capabilities.maxLifetimeMs)
  checkInteger('lifetimeMs', lifetimeMs, 1, capabilities.maxLifetimeMs)
  checkEnv(options.env ?? {})
  return {
    ...options,
    labels,
    env: { ...inheritedEnv(options.inheritEnv ?? driver.inheritEnv ?? []), ...options.env },
    workdir: normalizeSandboxPath(options.workdir ?? '/app', '/'),
    mounts: (options.mounts ?? []).map((mount) => ({ ...mount, path: normalizeSandboxPath(mount.path, '/') })),
    resources: options.resources ?? {},
    lifetimeMs,
  }
}

function inheritedEnv(names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of names) {
    const value = process.env[name]
    if (value !== undefined) found[name] = value
  }
  checkEnv(found)
  return found
}

function checkResources({ cpus, memoryBytes, maxProcesses }: NonNullable<BootOptions['resources']>): void {
  if (cpus !== undefined && !(cpus > 0 && cpus <= 1024)) {
    throw invalidOption(`resources.cpus is over 0 and at most 1024; found ${cpus}`)
  }
  if (memoryBytes !== undefined) checkInteger('resources.memoryBytes', memoryBytes, 6 * 1024 * 1024, 2 ** 50)
  if (maxProcesses !== undefined) checkInteger('resources.maxProcesses', maxProcesses, 1, 4_194_304)
}

function checkLabel(name: string, value: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,254}$/.test(value)) return
  throw invalidOption(
    `labels.${name} is 1 to 255 characters of A-Z a-z 0-9 . _ : / - and starts with a letter or a digit; found "${excerpt(value)}"`,
  )
}

function checkHostPath(name: string, path: string): void {
  if (!isAbsolute(path) || path.includes('\0')) {
    throw invalidOption(`${name} is an absolute path without NUL; found "${excerpt(path)}"`)
  }
}

/** Throws `sandbox_invalid_option` unless every name is one and no value holds a NUL. */
export function checkEnv(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw invalidOption(
        `The name of an environment variable matches [A-Za-z_][A-Za-z0-9_]*; found "${excerpt(name)}"`,
      )
    }
    if (typeof value !== 'string')
      throw invalidOption(`The environment variable ${name} is a string; found ${typeof value}`)
    if (value.includes('\0')) throw invalidOption(`The environment variable ${name} holds a NUL`)
  }
}

/** Throws `sandbox_invalid_option` unless `value` is an integer in [minimum, maximum]. */
export function checkInteger(name: string, value: number, minimum: number, maximum: number): void {
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return
  throw invalidOption(`${name} is an integer from ${minimum} to ${maximum}; found ${value}`)
}
