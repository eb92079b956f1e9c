import { randomBytes } from 'node:crypto'
import {
  type Clock,
  type Logger,
  SandboxError,
  type SandboxId,
  sandboxId,
  silentLogger,
  systemClock,
} from '@agentrl/spec'
import { Sandbox as E2bSandbox, NotFoundError } from 'e2b'
import { maxLifetimeMs, type ResolvedBootOptions, resolveBootOptions } from '../boot-options.ts'
import { bootSandbox } from '../boot-sandbox.ts'
import { sandboxMarks } from '../command-environment.ts'
import { invalidOption } from '../invalid-option.ts'
import type { SandboxDriver } from '../sandbox.ts'
import type { SandboxBackend } from '../sandbox-backend.ts'
import type { EgressPolicy, SandboxCapabilities, SandboxRecord } from '../sandbox-types.ts'
import { bootError, callError } from './e2b-errors.ts'
import { createE2bCalls, createE2bCommandFolders, startE2bCommand } from './e2b-exec.ts'
import { type E2bImages, imageRequest } from './e2b-images.ts'

/**
 * Sandboxes of E2B and of what speaks its protocol: Tencent AGS, Aliyun,
 * private gateways. Every command is a detached one, looked at with short
 * calls, so that no gateway has a long stream to cut.
 *
 * Commands run as `root` unless they name a user. The template needs a shell,
 * `setsid`, `base64` and `tar`, and a `bash`, which the SDK calls.
 */
export interface E2bDriverOptions {
  readonly apiKey: string
  /** For example `e2b.app` (default) or `ap-guangzhou.tencentags.com`. */
  readonly domain?: string
  /** Default `https://api.<domain>`. */
  readonly apiUrl?: string
  /** One address for the data plane of all sandboxes. Default: what the SDK makes of the domain. */
  readonly sandboxUrl?: string
  /** The template (E2B) or tool name (AGS). */
  readonly template: string
  /** How `image` and `resources` of a boot are told to the gateway. Default `none`: they are refused. */
  readonly images?: E2bImages
  /** Further metadata of every sandbox. */
  readonly metadata?: Readonly<Record<string, string>>
  /**
   * The egress policies that the gateway is known to enforce. Default none, hosts
   * and open, as E2B does; give `['open']` for a gateway that ignores them.
   */
  readonly egress?: readonly ('none' | 'hosts' | 'open')[]
  /** The longest life that the gateway grants. Default 86,400,000: a day, as E2B and AGS do. */
  readonly maxLifetimeMs?: number
  /** For every request. Default 60,000. */
  readonly requestTimeoutMs?: number
  /** How long one look at a command waits inside the sandbox. Default 5,000; below what the gateway lets a stream be idle. */
  readonly lookWaitMs?: number
  /** How many calls for one command may fail in a row. Default 10. */
  readonly maxFailedCalls?: number
  readonly clock?: Clock
  readonly logger?: Logger
}

/** The metadata that says who a sandbox belongs to. */
const keys = {
  id: 'agentrl.sandbox',
  owner: 'agentrl.owner',
  run: 'agentrl.run',
  attempt: 'agentrl.attempt',
} as const

/** A driver for E2B and compatible gateways. Needs the package `e2b`, exactly 2.50.0: later ones call other paths. */
export function createE2bDriver(options: E2bDriverOptions): SandboxDriver {
  const { clock = systemClock, logger = silentLogger, images = { kind: 'none' } } = options
  const connection = connectionOf(options)
  const capabilities: SandboxCapabilities = {
    hasOwnRoot: true,
    holdsEscapees: true,
    canSwitchUser: true,
    hasImages: images.kind !== 'none',
    hasResources: images.kind === 'custom-config',
    hasMounts: false,
    maxLifetimeMs: options.maxLifetimeMs ?? maxLifetimeMs,
    egress: options.egress ?? ['none', 'hosts', 'open'],
  }

  async function listAll(
    metadata: Record<string, string>,
  ): Promise<readonly { sandboxId: string; record: SandboxRecord }[]> {
    const found: { sandboxId: string; record: SandboxRecord }[] = []
    const paginator = E2bSandbox.list({ ...connection, query: { metadata, state: ['running'] } })
    while (paginator.hasNext) {
      for (const info of await paginator.nextItems()) {
        const record = readRecord(info)
        if (record !== undefined) found.push({ sandboxId: info.sandboxId, record })
      }
    }
    return found
  }

  async function killAll(id: SandboxId): Promise<void> {
    for (const { sandboxId: found } of await listAll({ [keys.id]: id })) await E2bSandbox.kill(found, connection)
  }

  return {
    name: 'e2b',
    capabilities,
    boot: async (bootOptions) =>
      bootSandbox({
        driver: 'e2b',
        resolved: resolveBootOptions(bootOptions, { name: 'e2b', capabilities }),
        createBackend: (resolved) => createBackend({ options, connection, capabilities, images, resolved, killAll }),
        clock,
        logger,
      }),
    list: async () => (await listAll({ 'agentrl.driver': 'e2b' })).map(({ record }) => record),
    remove: (record) => killAll(record.id),
  }
}

interface Connection {
  readonly apiKey: string
  readonly domain: string
  readonly apiUrl: string
  readonly sandboxUrl?: string
  readonly debug: false
  readonly requestTimeoutMs: number
}

/** Every setting that the SDK would otherwise take from the environment. It uses no proxy unless it is given one. */
function connectionOf({
  apiKey,
  domain = 'e2b.app',
  apiUrl,
  sandboxUrl,
  requestTimeoutMs = 60_000,
}: E2bDriverOptions): Connection {
  if (apiKey === '') throw invalidOption('The e2b driver needs an API key')
  if (sandboxUrl === undefined && (process.env.E2B_SANDBOX_URL ?? '') !== '') {
    // The SDK takes it whatever it is told, and would send the tokens of these sandboxes there.
    throw invalidOption('E2B_SANDBOX_URL is set, and the SDK would use it: give the option sandboxUrl, or unset it')
  }
  return {
    apiKey,
    domain,
    apiUrl: apiUrl ?? `https://api.${domain}`,
    debug: false,
    requestTimeoutMs,
    ...(sandboxUrl === undefined ? {} : { sandboxUrl }),
  }
}

interface BackendRequest {
  readonly options: E2bDriverOptions
  readonly connection: Connection
  readonly capabilities: SandboxCapabilities
  readonly images: E2bImages
  readonly resolved: ResolvedBootOptions
  readonly killAll: (id: SandboxId) => Promise<void>
}

async function createBackend(request: BackendRequest): Promise<SandboxBackend> {
  const { options, connection, capabilities, images, resolved, killAll } = request
  const id = sandboxId(`e2b-${randomBytes(6).toString('hex')}`)
  const { labels, lifetimeMs, egress, image, resources } = resolved
  const { template, metadata } = imageRequest(images, options.template, image, resources)
  const sandbox = await E2bSandbox.create(template, {
    ...connection,
    timeoutMs: lifetimeMs,
    metadata: {
      ...options.metadata,
      ...metadata,
      'agentrl.driver': 'e2b',
      [keys.id]: id,
      [keys.owner]: labels.owner,
      [keys.run]: labels.run,
      [keys.attempt]: labels.attempt,
    },
    ...networkOf(egress),
  }).catch(async (error: unknown) => {
    // The answer may be what was lost, not the request: a sandbox of that id must not stay.
    await killAll(id).catch(() => {})
    throw bootError(error, template)
  })
  const isAlive = (): Promise<boolean> => isSandboxAlive(sandbox, connection)
  const calls = createE2bCalls(sandbox, options, isAlive)
  const folders = createE2bCommandFolders()
  try {
    await calls.run('mkdir -p -m 1777 /tmp /tmp/.agentrl && mkdir -p "$1"', [resolved.workdir], 'root')
    const home = (await calls.run('printf %s "$HOME"', [], 'root')).trim()
    return {
      id,
      driver: 'e2b',
      capabilities,
      options: resolved,
      home: home.startsWith('/') ? home : '/root',
      env: { TMPDIR: '/tmp', LANG: 'C.UTF-8', ...sandboxMarks(id, '') },
      commandPath: (path) => path,
      start: (command) => startE2bCommand(calls, folders, command, options),
      async extendLifetime(lifetimeMs) {
        await sandbox.setTimeout(lifetimeMs).catch(async (error: unknown) => {
          throw await callError(error, 'extend the life of the sandbox', isAlive)
        })
      },
      async end() {
        await killSurely(sandbox, connection)
      },
    }
  } catch (error) {
    await sandbox.kill().catch(() => {})
    throw error instanceof SandboxError && error.code === 'sandbox_lost' ? error : bootError(error, template)
  }
}

/** Asks the sandbox, and if it does not say yes, the control plane. Only a no of both is one. */
async function isSandboxAlive(sandbox: E2bSandbox, connection: Connection): Promise<boolean> {
  const isRunning = await sandbox.isRunning().catch(() => undefined)
  if (isRunning === true) return true
  return E2bSandbox.getInfo(sandbox.sandboxId, connection).then(
    () => true,
    (error: unknown) => !(error instanceof NotFoundError) && isRunning !== false,
  )
}

/** Kills a sandbox; one that is gone already is no error. The gateway is asked up to five times. */
async function killSurely(sandbox: E2bSandbox, connection: Connection): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await E2bSandbox.kill(sandbox.sandboxId, connection)
      return
    } catch (cause) {
      if (tries < 5) {
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tries))
        continue
      }
      const message = `Sandbox ${sandbox.sandboxId} could not be ended: ${String(cause)}`
      throw new SandboxError('sandbox_survivors', message, { cause, details: { sandboxId: sandbox.sandboxId } })
    }
  }
}

function networkOf(egress: EgressPolicy): {
  allowInternetAccess?: boolean
  network?: { allowOut: string[]; denyOut: string[] }
} {
  if (egress.kind === 'none') return { allowInternetAccess: false }
  if (egress.kind !== 'hosts') return { allowInternetAccess: true }
  if (egress.adapter !== undefined)
    throw invalidOption('A socket of this host does not reach into an e2b sandbox: name the host of the adapter')
  return { network: { allowOut: [...egress.hosts], denyOut: ['0.0.0.0/0'] } }
}

function readRecord({
  metadata,
  startedAt,
  endAt,
}: {
  metadata: Record<string, string>
  startedAt: Date
  endAt: Date
}): SandboxRecord | undefined {
  const { [keys.id]: id, [keys.owner]: owner, [keys.run]: run, [keys.attempt]: attempt } = metadata
  if (id === undefined || owner === undefined || run === undefined || attempt === undefined) return undefined
  return {
    id: sandboxId(id),
    driver: 'e2b',
    labels: { owner, run, attempt },
    createdAt: startedAt.getTime(),
    endsAt: endAt.getTime(),
  }
}
