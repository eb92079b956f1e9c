import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, type Logger, SandboxError, silentLogger, systemClock } from '@agentrl/spec'
import { maxLifetimeMs, type ResolvedBootOptions, resolveBootOptions } from '../boot-options.ts'
import { bootSandbox } from '../boot-sandbox.ts'
import { plainEnvironment, sandboxMarks } from '../command-environment.ts'
import { createCommandFolder } from '../command-folder.ts'
import { type EgressRoute, type EgressRoutes, openEgressRoutes } from '../egress-routes.ts'
import { sandboxProcesses } from '../host-processes.ts'
import { invalidOption } from '../invalid-option.ts'
import { terminateProcessGroup } from '../process-group.ts'
import { relayScript, socketsPath } from '../relay-script.ts'
import type { SandboxDriver } from '../sandbox.ts'
import type { RunningCommand, SandboxBackend, StartCommand } from '../sandbox-backend.ts'
import { createSandboxFolder, listSandboxFolders, removeFolder, type SandboxFolder } from '../sandbox-folder.ts'
import type { SandboxCapabilities } from '../sandbox-types.ts'
import { initScript } from './init-script.ts'
import { fillPrivateRoot, home } from './private-root.ts'
import { type Bubblewrap, startBubblewrap } from './start-bubblewrap.ts'

/**
 * Sandboxes of Linux namespaces, made by the program `bwrap` without a daemon
 * and without root: a root folder of their own that is writable, the host's
 * `/usr` read-only, process, user, network, mount, IPC and host-name spaces of
 * their own. Nothing can leave the process space, so disposal ends every child,
 * however it was started; the kernel also ends it when this process dies.
 *
 * Commands are root inside, and the user of this process outside; they have no
 * capabilities. Memory, disk and the number of processes are not limited.
 *
 * The network is nothing at all; or what a relay of ours makes heard on the
 * sandbox's own loopback, which is the adapter, a proxy that knows a list of
 * hosts, or both; or the host's network.
 */
export interface BubblewrapDriverOptions {
  /** Where sandboxes have their folders. Default `<tmp>/agentrl-sandboxes`. */
  readonly folder?: string
  /** The bubblewrap program. Default `bwrap`. */
  readonly program?: string
  /** Bound for one boot. Default 15,000. */
  readonly bootTimeoutMs?: number
  readonly clock?: Clock
  readonly logger?: Logger
}

const capabilities: SandboxCapabilities = {
  hasOwnRoot: true,
  holdsEscapees: true,
  canSwitchUser: false,
  hasImages: false,
  hasResources: false,
  hasMounts: true,
  maxLifetimeMs,
  egress: ['none', 'adapter', 'hosts', 'open'],
}

/** Where the host's Node binary is inside, for the relay. */
const nodePath = '/run/agentrl-node'

/** A driver for bubblewrap sandboxes. Linux only; boots fail with `sandbox_boot_failed` where `bwrap` is missing. */
export function createBubblewrapDriver(options: BubblewrapDriverOptions = {}): SandboxDriver {
  const { folder: base = join(tmpdir(), 'agentrl-sandboxes'), clock = systemClock, logger = silentLogger } = options
  const { program = 'bwrap', bootTimeoutMs = 15_000 } = options

  async function createBackend(resolved: ResolvedBootOptions): Promise<SandboxBackend> {
    const folder = await createSandboxFolder(base, 'bubblewrap', resolved, clock)
    const control = join(folder.folder, 'control')
    let bubblewrap: Bubblewrap | undefined
    let egress: EgressRoutes | undefined
    try {
      await layOut(folder.root, control, resolved)
      egress = await openEgressRoutes(resolved.egress, folder.folder, logger)
      const { routes } = egress
      bubblewrap = await startBubblewrap(
        {
          root: folder.root,
          control,
          mounts: [
            ...resolved.mounts,
            ...(routes.length === 0 ? [] : [{ hostPath: process.execPath, path: nodePath }]),
          ],
          hasNetwork: resolved.egress.kind === 'open',
          sockets: Object.fromEntries(routes.map(({ name, socketPath }) => [name, socketPath])),
        },
        { id: folder.id, program, timeoutMs: bootTimeoutMs },
      )
      const backend = bubblewrapBackend({ folder, control, options: resolved, bubblewrap, egress })
      if (routes.length > 0) await startRelay(backend, routes)
      return backend
    } catch (cause) {
      if (bubblewrap !== undefined) await end(bubblewrap)
      await egress?.[Symbol.asyncDispose]()
      await folder.remove()
      if (cause instanceof SandboxError) throw cause
      throw new SandboxError('sandbox_boot_failed', `Sandbox ${folder.id} could not be laid out: ${String(cause)}`, {
        cause,
      })
    }
  }

  return {
    name: 'bubblewrap',
    capabilities,
    boot: async (bootOptions) =>
      bootSandbox({
        driver: 'bubblewrap',
        resolved: resolveBootOptions(bootOptions, { name: 'bubblewrap', capabilities }),
        createBackend,
        clock,
        logger,
      }),
    list: () => listSandboxFolders(base, 'bubblewrap'),
    async remove(record) {
      const folder = join(base, record.id)
      await terminateProcessGroup(sandboxProcesses(record.id), { graceMs: 0 })
      await removeFolder(folder)
    },
  }
}

async function layOut(root: string, control: string, options: ResolvedBootOptions): Promise<void> {
  await mkdir(join(control, 'commands'), { recursive: true })
  await Promise.all([
    writeFile(join(control, 'init.sh'), initScript),
    writeFile(join(control, 'relay.cjs'), relayScript),
    fillPrivateRoot(root, options),
  ])
}

interface BackendParts {
  readonly folder: SandboxFolder
  readonly control: string
  readonly options: ResolvedBootOptions
  readonly bubblewrap: Bubblewrap
  readonly egress: EgressRoutes
}

function bubblewrapBackend({ folder, control, options, bubblewrap, egress }: BackendParts): SandboxBackend {
  let commandCount = 0
  return {
    id: folder.id,
    driver: 'bubblewrap',
    capabilities,
    options,
    home,
    env: { ...plainEnvironment({ home, tmp: '/tmp' }), ...sandboxMarks(folder.id, ''), ...egress.env },
    commandPath: (path) => path,
    extendLifetime: folder.extendLifetime,
    start(command) {
      commandCount += 1
      return startCommand(control, commandCount, command, bubblewrap)
    },
    async end() {
      await end(bubblewrap)
      await egress[Symbol.asyncDispose]()
      await folder.remove()
    },
  }
}

async function startCommand(
  control: string,
  number: number,
  command: StartCommand,
  { init, namespace }: Bubblewrap,
): Promise<RunningCommand> {
  if (command.user !== undefined && command.user !== 'root') {
    throw invalidOption(`The bubblewrap driver runs commands as root only; found user "${command.user}"`)
  }
  const folder = await createCommandFolder(join(control, 'commands', `${number}`), number, command)
  try {
    const { started, exited } = init.run(number)
    const leader = await started
    if (leader === undefined) throw invalidOption(`cwd is a folder of the sandbox; found ${command.cwd}`)
    return {
      ...folder.readStreams(),
      exitCode: exited,
      group: namespace.group(leader),
    }
  } finally {
    await folder.remove()
  }
}

/** Starts the relay from ports of the sandbox's loopback to bound sockets, and waits until it listens. */
async function startRelay(backend: SandboxBackend, routes: readonly EgressRoute[]): Promise<void> {
  const relay = await backend.start({
    argv: [
      nodePath,
      '/run/agentrl/relay.cjs',
      ...routes.flatMap(({ name, port }) => [`${socketsPath}/${name}`, `${port}`]),
    ],
    env: { AGENTRL_SANDBOX_ID: backend.id },
    cwd: '/',
  })
  for await (const chunk of relay.stdout) {
    if (Buffer.from(chunk).includes('listening')) return
  }
  throw new SandboxError('sandbox_boot_failed', `The relay of sandbox ${backend.id} did not start`)
}

async function end({ init, namespace, kill }: Bubblewrap): Promise<void> {
  try {
    await terminateProcessGroup(namespace.all, { graceMs: 0 })
    kill()
    await init.over
  } finally {
    namespace.close()
  }
}
