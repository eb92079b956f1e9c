import { mkdir, stat, symlink } from 'node:fs/promises'
import { constants, tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { type Clock, type Logger, SandboxError, silentLogger, systemClock } from '@agentrl/spec'
import { execa } from 'execa'
import { invalidOption, type ResolvedBootOptions, resolveBootOptions } from './boot-options.ts'
import { bootSandbox } from './boot-sandbox.ts'
import {
  describeProcess,
  findProcessesByEnvironment,
  type HostProcess,
  hostProcessGroup,
  listHostProcesses,
  signalHostProcess,
} from './host-processes.ts'
import { localFiles } from './local-files.ts'
import { type ProcessGroup, terminateProcessGroup } from './process-group.ts'
import { isProcessAlive } from './process-owner.ts'
import type { SandboxDriver } from './sandbox.ts'
import type { RunningCommand, SandboxBackend, StartCommand } from './sandbox-backend.ts'
import { createSandboxFolder, listSandboxFolders, removeFolder, type SandboxFolder } from './sandbox-folder.ts'
import type { SandboxCapabilities } from './sandbox-types.ts'

/**
 * Commands as processes of this machine, in a folder of their own. It isolates
 * nothing: commands see the host's files and network. It is for trusted code,
 * for tests, and for machines that are themselves a sandbox.
 *
 * It does hold processes. Every command is a session and process group of its
 * own, and carries `AGENTRL_SANDBOX_ID` in its environment. Disposal ends every
 * group, then every process that carries the mark, so a child that leaves its
 * session and forks twice is found. One that also clears its environment is
 * not: the capability `holdsEscapees` is false.
 */
export interface LocalDriverOptions {
  /** Where sandboxes have their folders. Default `<tmp>/agentrl-sandboxes`. */
  readonly folder?: string
  readonly clock?: Clock
  readonly logger?: Logger
}

const capabilities: SandboxCapabilities = {
  hasOwnRoot: false,
  holdsEscapees: false,
  canSwitchUser: false,
  hasImages: false,
  hasResources: false,
  hasMounts: true,
  egress: ['open'],
}

const home = '/root'

/** A driver for processes of this machine. Mounts are symbolic links. */
export function createLocalDriver(options: LocalDriverOptions = {}): SandboxDriver {
  const { folder: base = join(tmpdir(), 'agentrl-sandboxes'), clock = systemClock, logger = silentLogger } = options
  const liveGroups = new Set<number>()
  const killLiveGroups = (): void => {
    for (const groupId of liveGroups) signalHostProcess(-groupId, 'SIGKILL')
  }
  let liveSandboxes = 0

  /** This process may exit without disposing: what it started must not outlive it. */
  function countLive(change: 1 | -1): void {
    liveSandboxes += change
    if (change === 1 && liveSandboxes === 1) process.on('exit', killLiveGroups)
    if (liveSandboxes === 0) process.off('exit', killLiveGroups)
  }

  async function createBackend(resolved: ResolvedBootOptions): Promise<SandboxBackend> {
    const folder = await createSandboxFolder(base, 'local', resolved, clock)
    try {
      for (const path of [home, '/tmp', resolved.workdir]) await mkdir(join(folder.root, path), { recursive: true })
      for (const { hostPath, path } of resolved.mounts) {
        await mkdir(join(folder.root, dirname(path)), { recursive: true })
        await symlink(hostPath, join(folder.root, path))
      }
    } catch (cause) {
      await folder.remove()
      throw new SandboxError('sandbox_boot_failed', `The folder of the sandbox could not be filled: ${String(cause)}`, {
        cause,
      })
    }
    countLive(1)
    return localBackend(folder, resolved, liveGroups, () => countLive(-1))
  }

  return {
    name: 'local',
    capabilities,
    boot: (bootOptions) =>
      bootSandbox({
        driver: 'local',
        resolved: resolveBootOptions(bootOptions, { name: 'local', capabilities, inheritEnv: ['PATH'] }),
        createBackend,
        clock,
        logger,
      }),
    list: () => listSandboxFolders(base, 'local'),
    async remove(record) {
      await terminateProcessGroup(sandboxProcesses(record.id, new Set()))
      await removeFolder(join(base, record.id))
    },
  }
}

function localBackend(
  folder: SandboxFolder,
  options: ResolvedBootOptions,
  liveGroups: Set<number>,
  onEnd: () => void,
): SandboxBackend {
  const groups = new Set<number>()
  return {
    id: folder.id,
    driver: 'local',
    capabilities,
    options,
    home,
    commandPath: (path) => (path === '/' ? folder.root : join(folder.root, path)),
    files: localFiles(folder.root),
    extendLifetime: folder.extendLifetime,
    async start(command) {
      const running = await startProcess(command)
      groups.add(running.groupId)
      liveGroups.add(running.groupId)
      const forgetEmptyGroup = (): void => {
        if (isProcessAlive(-running.groupId)) return
        groups.delete(running.groupId)
        liveGroups.delete(running.groupId)
      }
      return { ...running, exitCode: running.exitCode.finally(forgetEmptyGroup) }
    },
    async end() {
      try {
        await terminateProcessGroup(sandboxProcesses(folder.id, groups))
        await folder.remove()
      } finally {
        for (const groupId of groups) liveGroups.delete(groupId)
        onEnd()
      }
    },
  }
}

async function startProcess(command: StartCommand): Promise<RunningCommand & { groupId: number }> {
  checkUser(command.user)
  const cwd = await stat(command.cwd).catch(() => undefined)
  if (cwd === undefined || !cwd.isDirectory())
    throw invalidOption(`cwd is a folder of the sandbox; found ${command.cwd}`)
  // The shell turns a program that can't be run into exit code 126 or 127, as it is in every other driver.
  const subprocess = execa('/bin/sh', ['-c', 'exec "$@"', 'sh', ...command.argv], {
    detached: true,
    extendEnv: false,
    env: { ...command.env },
    cwd: command.cwd,
    ...(command.stdin instanceof Uint8Array ? { input: command.stdin } : { stdin: command.stdin ?? 'ignore' }),
    encoding: 'buffer',
    buffer: false,
    reject: false,
    cleanup: false,
  })
  const exitCode = new Promise<number>((resolve, reject) => {
    subprocess.once('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
    subprocess.once('error', (cause) =>
      reject(
        new SandboxError('sandbox_exec_failed', `A process could not be started: ${String(cause)}`, {
          cause,
          isRetryable: true,
        }),
      ),
    )
  })
  const groupId = subprocess.pid
  if (groupId === undefined) {
    await exitCode
    throw new SandboxError('sandbox_exec_failed', 'A process could not be started', { isRetryable: true })
  }
  return {
    groupId,
    stdout: subprocess.stdout,
    stderr: subprocess.stderr,
    exitCode,
    group: hostProcessGroup(groupId),
    release() {
      for (const stream of [subprocess.stdout, subprocess.stderr]) {
        if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
      }
    },
  }
}

/** Every process of a sandbox: the members of its groups and sessions, and whatever carries its mark. */
function sandboxProcesses(id: string, groups: ReadonlySet<number>): ProcessGroup {
  const find = (): readonly HostProcess[] => {
    const marked = findProcessesByEnvironment(`AGENTRL_SANDBOX_ID=${id}`)
    const members =
      groups.size === 0
        ? []
        : listHostProcesses().filter((found) => groups.has(found.groupId) || groups.has(found.sessionId))
    const byId = new Map([...marked, ...members].map((found) => [found.processId, found]))
    return [...byId.values()].filter((found) => !found.isZombie && found.processId !== process.pid)
  }
  return {
    name: `sandbox ${id}`,
    async signal(signal) {
      for (const groupId of groups) signalHostProcess(-groupId, signal)
      for (const found of find()) signalHostProcess(found.processId, signal)
    },
    async survivors() {
      const found = find()
      const hidden = found.length > 0 ? [] : [...groups].filter((groupId) => isGroupAlive(groupId))
      return [...found.map(describeProcess), ...hidden.map((groupId) => `process group ${groupId}`)]
    },
  }
}

/** Where there is a /proc, `find` has seen everything, zombies included; elsewhere only the group tells. */
function isGroupAlive(groupId: number): boolean {
  return process.platform !== 'linux' && isProcessAlive(-groupId)
}

function checkUser(user: string | undefined): void {
  if (user === undefined || user === userInfo().username) return
  throw invalidOption(`The local driver runs commands as ${userInfo().username} only; found user "${user}"`)
}
