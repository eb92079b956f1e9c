import type { ChildProcess } from 'node:child_process'
import { access, mkdir, symlink } from 'node:fs/promises'
import { constants, tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Clock, type Logger, SandboxError, silentLogger, systemClock } from '@agentrl/spec'
import { execa } from 'execa'
import { maxLifetimeMs, type ResolvedBootOptions, resolveBootOptions } from './boot-options.ts'
import { bootSandbox } from './boot-sandbox.ts'
import { plainEnvironment, sandboxMarks } from './command-environment.ts'
import { createCommandFolder } from './command-folder.ts'
import { hostProcessGroup, sandboxProcesses, signalHostProcess } from './host-processes.ts'
import { invalidOption } from './invalid-option.ts'
import { localFiles } from './local-files.ts'
import { terminateProcessGroup } from './process-group.ts'
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
  maxLifetimeMs,
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
        await access(hostPath)
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
    boot: async (bootOptions) =>
      bootSandbox({
        driver: 'local',
        resolved: resolveBootOptions(bootOptions, { name: 'local', capabilities, inheritEnv: ['PATH'] }),
        createBackend,
        clock,
        logger,
      }),
    list: () => listSandboxFolders(base, 'local'),
    async remove(record) {
      await terminateProcessGroup(sandboxProcesses(record.id))
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
  let commandCount = 0
  return {
    id: folder.id,
    driver: 'local',
    capabilities,
    options,
    home,
    env: {
      ...plainEnvironment({ home: join(folder.root, home), tmp: join(folder.root, 'tmp') }),
      ...sandboxMarks(folder.id, folder.root),
    },
    commandPath: (path) => (path === '/' ? folder.root : join(folder.root, path)),
    files: localFiles(folder.root, checkUser),
    extendLifetime: folder.extendLifetime,
    async start(command) {
      commandCount += 1
      const running = await startProcess(join(folder.folder, 'commands', `${commandCount}`), commandCount, command)
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

async function startProcess(
  folder: string,
  number: number,
  command: StartCommand,
): Promise<RunningCommand & { groupId: number }> {
  checkUser(command.user)
  const files = await createCommandFolder(folder, number, command)
  try {
    const subprocess = execa('/bin/sh', ['-c', becomeCommand, folder], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
      extendEnv: false,
      env: { AGENTRL_SANDBOX_ID: command.env.AGENTRL_SANDBOX_ID ?? '', PATH: '/usr/bin:/bin' },
      buffer: false,
      reject: false,
      cleanup: false,
    })
    const exitCode = exitCodeOf(subprocess)
    const groupId = subprocess.pid
    const said = await text(subprocess.stdout)
    if (groupId === undefined) {
      await exitCode
      throw new SandboxError('sandbox_exec_failed', 'A process could not be started', { isRetryable: true })
    }
    if (said.startsWith('refused')) throw invalidOption(`cwd is a folder of the sandbox; found ${command.cwd}`)
    if (!said.startsWith('started')) {
      throw new SandboxError('sandbox_exec_failed', 'A command could not be started', { isRetryable: true })
    }
    return { ...files.readStreams(), groupId, exitCode, group: hostProcessGroup(groupId) }
  } finally {
    await files.remove()
  }
}

/** $0 is the command's folder; see `command-folder.ts`. Descriptor 3 closes when the command begins. */
const becomeCommand = 'exec /bin/sh "$0/run.sh" 3>&1 <"$0/stdin" >"$0/stdout" 2>"$0/stderr"'

function exitCodeOf(subprocess: Pick<ChildProcess, 'once'>): Promise<number> {
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
  // It is awaited later, or not at all when the command was refused.
  exitCode.catch(() => {})
  return exitCode
}

function checkUser(user: string | undefined): void {
  if (user === undefined || user === userInfo().username) return
  throw invalidOption(`The local driver runs commands as ${userInfo().username} only; found user "${user}"`)
}
