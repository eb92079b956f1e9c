import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Clock,
  type Logger,
  SandboxError,
  type SandboxId,
  sandboxId,
  silentLogger,
  systemClock,
} from '@agentrl/spec'
import type Docker from 'dockerode'
import type { Container, ContainerCreateOptions, ContainerInfo } from 'dockerode'
import { maxLifetimeMs, type ResolvedBootOptions, resolveBootOptions } from '../boot-options.ts'
import { bootSandbox } from '../boot-sandbox.ts'
import { sandboxMarks } from '../command-environment.ts'
import { type EgressRoutes, openEgressRoutes } from '../egress-routes.ts'
import { invalidOption } from '../invalid-option.ts'
import type { SandboxDriver } from '../sandbox.ts'
import type { SandboxBackend } from '../sandbox-backend.ts'
import type { EgressPolicy, SandboxCapabilities, SandboxRecord } from '../sandbox-types.ts'
import { callError, connectDocker, type DockerConnection, isLocalDaemon, reasonOf, statusOf } from './connect-docker.ts'
import { runDockerExec, startDockerExec } from './docker-exec.ts'
import { startDockerRelay } from './docker-relay.ts'
import { readProgress } from './read-progress.ts'

/**
 * Sandboxes as containers of a Docker daemon, near or far. The container's own
 * process only waits, for at most a day: a daemon removes the container then,
 * also when nobody is left to ask for it. Commands run through exec. There are
 * no new privileges, a limit of processes, and no network unless the policy
 * gives one.
 *
 *     label agentrl.owner, .run, .attempt, .created    who it belongs to
 *     name  agentrl-<id>.<end>                         end of life, epoch milliseconds; moves by renaming
 */
export interface DockerDriverOptions extends DockerConnection {
  /** For boots that name none. */
  readonly image?: string
  /** Fetch an image that the daemon does not have. Default `never`. */
  readonly pull?: 'missing' | 'never'
  /** The network of the egress policy `open`: `bridge` (default), `host`, or the name of a network. */
  readonly network?: string
  /** For boots that name no `maxProcesses`. Default 4,096. */
  readonly maxProcesses?: number
  readonly clock?: Clock
  readonly logger?: Logger
}

/** The container's own process ends by itself after this long. */
const maxLifeSeconds = 86_400

/** Waits, takes in orphans, and ends on SIGTERM. */
const waitScript = `trap 'exit 0' TERM; sleep ${maxLifeSeconds} & wait $!`

/** A driver for containers. Needs the package `dockerode`. Throws `sandbox_invalid_option` for a host that is none. */
export function createDockerDriver(options: DockerDriverOptions = {}): SandboxDriver {
  const { clock = systemClock, logger = silentLogger } = options
  const docker = connectDocker(options)
  const capabilities = capabilitiesOf(options)

  return {
    name: 'docker',
    capabilities,
    boot: async (bootOptions) =>
      bootSandbox({
        driver: 'docker',
        resolved: resolveBootOptions(bootOptions, { name: 'docker', capabilities }),
        createBackend: (resolved) => createBackend({ docker, resolved, options, capabilities, clock, logger }),
        clock,
        logger,
      }),
    async list() {
      const filters = { label: ['agentrl.driver=docker'] }
      const found = await docker.listContainers({ all: true, filters }).catch((error: unknown) => {
        throw callError(error, 'list containers')
      })
      return found.flatMap((info) => readRecord(info) ?? [])
    },
    async remove(record) {
      const filters = { label: [`agentrl.sandbox=${record.id}`] }
      const found = await docker.listContainers({ all: true, filters })
      for (const { Id } of found) await removeContainer(docker.getContainer(Id))
    },
  }
}

function capabilitiesOf(options: DockerDriverOptions): SandboxCapabilities {
  return {
    hasOwnRoot: true,
    holdsEscapees: true,
    canSwitchUser: true,
    hasImages: true,
    hasResources: true,
    // Both bind something of this machine into the container.
    hasMounts: isLocalDaemon(options),
    maxLifetimeMs,
    egress: isLocalDaemon(options) ? ['none', 'adapter', 'hosts', 'open'] : ['none', 'open'],
  }
}

interface BackendRequest {
  readonly docker: Docker
  readonly resolved: ResolvedBootOptions
  readonly options: DockerDriverOptions
  readonly capabilities: SandboxCapabilities
  readonly clock: Clock
  readonly logger: Logger
}

async function createBackend({
  docker,
  resolved,
  options,
  capabilities,
  clock,
  logger,
}: BackendRequest): Promise<SandboxBackend> {
  const image = resolved.image ?? options.image
  if (image === undefined) throw invalidOption('The docker driver needs an image')
  const id = sandboxId(`docker-${randomBytes(6).toString('hex')}`)
  const createdAt = clock.now()
  const containers: Container[] = []
  let egress: EgressRoutes | undefined
  const removeAll = async (): Promise<void> => {
    await Promise.all(containers.map((container) => removeContainer(container)))
    await egress?.[Symbol.asyncDispose]()
  }
  try {
    egress = await openDockerRoutes(resolved.egress, logger)
    const { routes, env } = egress
    const created = await createContainer(docker, containerOptions(id, image, createdAt, resolved, options), options)
    containers.push(created)
    await created.start()
    const home = await prepareContainer(created, resolved.workdir)
    if (routes.length > 0) containers.push(await startDockerRelay(docker, { id, image, container: created, routes }))
    return {
      id,
      driver: 'docker',
      capabilities,
      options: resolved,
      home,
      env: { TMPDIR: '/tmp', LANG: 'C.UTF-8', ...sandboxMarks(id, ''), ...env },
      commandPath: (path) => path,
      start: (command) => startDockerExec(created, command),
      async extendLifetime(lifetimeMs) {
        await created.rename({ name: containerName(id, clock.now() + lifetimeMs) }).catch((error: unknown) => {
          throw callError(error, 'extend the life of the container')
        })
      },
      end: removeAll,
    }
  } catch (error) {
    await removeAll().catch(() => {})
    throw bootError(error, image)
  }
}

/** The routes of a policy; a proxy gets a folder of its own on the host. */
async function openDockerRoutes(policy: EgressPolicy, logger: Logger): Promise<EgressRoutes> {
  if (policy.kind !== 'hosts') return openEgressRoutes(policy, '', logger)
  const folder = await mkdtemp(join(tmpdir(), 'agentrl-docker-'))
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true })
  const opened = await openEgressRoutes(policy, folder, logger).catch(async (error: unknown) => {
    await removeFolder()
    throw error
  })
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]()
      await removeFolder()
    },
  }
}

function containerOptions(
  id: SandboxId,
  image: string,
  createdAt: number,
  { labels, workdir, resources, mounts, egress, lifetimeMs }: ResolvedBootOptions,
  { network = 'bridge', maxProcesses = 4_096 }: DockerDriverOptions,
): ContainerCreateOptions {
  const { cpus, memoryBytes } = resources
  return {
    name: containerName(id, createdAt + lifetimeMs),
    Image: image,
    Entrypoint: ['/bin/sh', '-c', waitScript],
    Cmd: [],
    WorkingDir: workdir,
    User: 'root',
    Labels: {
      'agentrl.driver': 'docker',
      'agentrl.sandbox': id,
      'agentrl.owner': labels.owner,
      'agentrl.run': labels.run,
      'agentrl.attempt': labels.attempt,
      'agentrl.created': `${createdAt}`,
    },
    HostConfig: {
      AutoRemove: true,
      NetworkMode: egress.kind === 'open' ? network : 'none',
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: resources.maxProcesses ?? maxProcesses,
      // Not Binds: those make a folder of the host where there is none.
      Mounts: mounts.map(({ hostPath, path }) => ({ Type: 'bind', Source: hostPath, Target: path, ReadOnly: true })),
      ...(cpus === undefined ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
      // No swap beside the memory.
      ...(memoryBytes === undefined ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
    },
  }
}

function containerName(id: SandboxId, endsAt: number): string {
  return `agentrl-${id}.${endsAt}`
}

async function createContainer(
  docker: Docker,
  request: ContainerCreateOptions,
  { pull = 'never' }: DockerDriverOptions,
): Promise<Container> {
  try {
    return await docker.createContainer(request)
  } catch (error) {
    if (statusOf(error) !== 404 || pull === 'never' || request.Image === undefined) throw error
    await readProgress(await docker.pull(request.Image))
    return docker.createContainer(request)
  }
}

/** Makes the folders that every sandbox has, and gives the home folder of the default user. */
async function prepareContainer(container: Container, workdir: string): Promise<string> {
  const script = 'mkdir -p /tmp "$1" && chmod 1777 /tmp && printf %s "$HOME"'
  const home = await runDockerExec(container, ['/bin/sh', '-c', script, 'sh', workdir])
  return home.startsWith('/') ? home : '/'
}

function readRecord({ Labels, Names }: ContainerInfo): SandboxRecord | undefined {
  const { 'agentrl.sandbox': id, 'agentrl.owner': owner, 'agentrl.run': run, 'agentrl.attempt': attempt } = Labels
  if (id === undefined || owner === undefined || run === undefined || attempt === undefined) return undefined
  const endsAt = Number(/\.(\d+)$/.exec(Names[0] ?? '')?.[1])
  // The relay of a sandbox is no sandbox.
  if (!Number.isFinite(endsAt)) return undefined
  const createdAt = Number(Labels['agentrl.created'])
  return { id: sandboxId(id), driver: 'docker', labels: { owner, run, attempt }, createdAt, endsAt }
}

/** Removes a container with its processes, and waits until it is gone. One that is gone already is no error. */
async function removeContainer(container: Container): Promise<void> {
  await container.remove({ force: true, v: true }).catch((error: unknown) => {
    // 409: it is being removed already, by its own end.
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw callError(error, 'remove a container')
  })
  for (let looks = 0; looks < 100; looks += 1) {
    const isGone = await container.inspect().then(
      () => false,
      (error: unknown) => statusOf(error) === 404,
    )
    if (isGone) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new SandboxError('sandbox_survivors', `Container ${container.id.slice(0, 12)} is still there after its removal`)
}

function bootError(error: unknown, image: string): SandboxError {
  if (error instanceof SandboxError) return error
  const status = statusOf(error)
  // A network that does not exist is a 404 too.
  if (status === 404 && !/network/i.test(reasonOf(error))) {
    return new SandboxError('sandbox_boot_failed', `The Docker daemon has no image "${image}": ${reasonOf(error)}`, {
      cause: error,
    })
  }
  const isRetryable = status === undefined || status >= 500
  const what = status === undefined ? 'The Docker daemon can not be reached' : `The Docker daemon answered ${status}`
  return new SandboxError('sandbox_boot_failed', `${what}: ${reasonOf(error)}`, { cause: error, isRetryable })
}
