import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import { execa } from 'execa'
import { systemPath } from './command-environment.ts'
import { invalidOption } from './invalid-option.ts'
import { createOutputCollector } from './output-collector.ts'
import { terminateProcessGroup } from './process-group.ts'
import type { FileBackend, FileCall, RunningCommand, SandboxBackend } from './sandbox-backend.ts'
import { unpackTar } from './unpack-tar.ts'

/** Why a path can't be what a call takes it for. */
const exitCodes = { file: 40, folder: 41, other: 42, absent: 43 } as const
type Kind = keyof typeof exitCodes

const kindScript = `if [ -f "$1" ]; then exit ${exitCodes.file}; elif [ -d "$1" ]; then exit ${exitCodes.folder}
elif [ -e "$1" ]; then exit ${exitCodes.other}; else exit ${exitCodes.absent}; fi`

/** $1 path, $2 mode, $3 its folder. A pipe would make cat wait for a reader. */
const writeScript = `[ ! -e "$1" ] || [ -f "$1" ] || exit ${exitCodes.other}
mkdir -p -- "$3" && cat > "$1" && chmod "$2" "$1"`

/**
 * File calls as commands of the sandbox (`cat`, `tar`): they see the sandbox's
 * own file system, so no path or link can lead to a file of the host.
 */
export function commandFiles(backend: Pick<SandboxBackend, 'start'>): FileBackend {
  /** Starts a command that ends when the call is aborted. */
  async function run(
    script: string,
    args: readonly string[],
    { user, signal }: FileCall,
    stdin?: AsyncIterable<Uint8Array>,
  ): Promise<RunningCommand> {
    signal.throwIfAborted()
    const running = await backend.start({
      argv: ['/bin/sh', '-c', script, 'sh', ...args],
      env: { PATH: systemPath, LC_ALL: 'C' },
      cwd: '/',
      ...(user === undefined ? {} : { user }),
      ...(stdin === undefined ? {} : { stdin }),
    })
    const onAbort = (): void => {
      // Whoever waits for the command hears of its end; one that outlives this is found when the sandbox ends.
      terminateProcessGroup(running.group, { graceMs: 0 }).catch(() => {})
    }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    const forget = (): void => signal.removeEventListener('abort', onAbort)
    running.exitCode.then(forget, forget)
    return running
  }

  async function kindOf(path: string, call: FileCall): Promise<Kind> {
    const { exitCode, stderr } = await finish(await run(kindScript, [path], call), 0)
    const kind = (Object.keys(exitCodes) as Kind[]).find((name) => exitCodes[name] === exitCode)
    if (kind !== undefined) return kind
    throw new SandboxError('sandbox_exec_failed', `Could not look at ${path}: ${excerpt(stderr)}`, {
      details: { exitCode },
    })
  }

  async function requireFile(path: string, call: FileCall): Promise<void> {
    const kind = await kindOf(path, call)
    if (kind === 'absent') throw new SandboxError('sandbox_file_not_found', `There is no file ${path} in the sandbox`)
    if (kind !== 'file') throw notAFile(path)
  }

  async function uploadFolder(hostPath: string, path: string, call: FileCall): Promise<void> {
    const packing = execa('tar', ['-C', hostPath, '-cf', '-', '.'], {
      encoding: 'buffer',
      buffer: false,
      reject: false,
    })
    try {
      const script = 'mkdir -p -- "$1" && exec tar -C "$1" -xof -'
      await succeed(await run(script, [path], call, packing.iterable({ binary: true })), `unpack into ${path}`)
    } finally {
      packing.kill()
    }
    const { exitCode, stderr } = await packing
    if (exitCode !== 0)
      throw new SandboxError('sandbox_exec_failed', `Could not pack ${hostPath}: ${excerpt(String(stderr))}`)
  }

  async function downloadFolder(path: string, hostPath: string, call: FileCall & { maxBytes: number }): Promise<void> {
    const packing = await run('exec tar -C "$1" -cf - .', [path], call)
    try {
      await unpackTar(atMost(packing.stdout, path, call.maxBytes), hostPath)
    } catch (error) {
      await terminateProcessGroup(packing.group, { graceMs: 0 })
      throw error
    }
    await readToEnd(packing.stdout)
    await succeed({ ...packing, stdout: empty() }, `pack ${path}`)
  }

  return {
    async writeFile(path, content, call) {
      const running = await run(writeScript, [path, call.mode.toString(8), dirname(path)], call, content)
      const { exitCode } = await succeed(running, `write ${path}`, 0, exitCodes.other)
      if (exitCode !== 0) throw notAFile(path)
    },
    async readFile(path, call) {
      await requireFile(path, call)
      const { stdout, isOver } = await succeed(
        await run('exec cat < "$1"', [path], call),
        `read ${path}`,
        call.maxBytes,
      )
      if (isOver) throw overCap(path, call.maxBytes)
      return stdout
    },
    async *readStream(path, call) {
      await requireFile(path, call)
      const reading = await run('exec cat < "$1"', [path], call)
      let isRead = false
      try {
        yield* reading.stdout
        isRead = true
      } finally {
        if (!isRead) await terminateProcessGroup(reading.group, { graceMs: 0 })
        reading.release()
      }
      await succeed({ ...reading, stdout: empty() }, `read ${path}`)
    },
    async exists(path, call) {
      return (await kindOf(path, call)) !== 'absent'
    },
    async upload(hostPath, path, call) {
      const found = await stat(hostPath)
      if (found.isDirectory()) return uploadFolder(hostPath, path, call)
      return this.writeFile(path, createReadStream(hostPath), { ...call, mode: found.mode & 0o777 })
    },
    async download(path, hostPath, call) {
      if ((await kindOf(path, call)) === 'folder') return downloadFolder(path, hostPath, call)
      await requireFile(path, call)
      await mkdir(dirname(hostPath), { recursive: true })
      const reading = await run('exec cat < "$1"', [path], call)
      try {
        await pipeline(atMost(reading.stdout, path, call.maxBytes), createWriteStream(hostPath))
      } catch (error) {
        await terminateProcessGroup(reading.group, { graceMs: 0 })
        await rm(hostPath, { force: true })
        throw error
      }
      await succeed({ ...reading, stdout: empty() }, `read ${path}`)
    },
  }
}

export function notAFile(path: string): SandboxError {
  return invalidOption(`${path} is no file but a folder, a pipe or the like`)
}

export function overCap(path: string, maxBytes: number): SandboxError {
  return invalidOption(`${path} has more than ${maxBytes} bytes`)
}

/** Reads what nobody needs, so that its writer can end: an archive is followed by blocks of zeros. */
async function readToEnd(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of stream) {
    // Nothing in it is of use.
  }
}

/** A stream that is refused where it goes on beyond `maxBytes`. */
async function* atMost(stream: AsyncIterable<Uint8Array>, path: string, maxBytes: number): AsyncGenerator<Uint8Array> {
  let seenBytes = 0
  for await (const chunk of stream) {
    seenBytes += chunk.length
    if (seenBytes > maxBytes) throw overCap(path, maxBytes)
    yield chunk
  }
}

async function* empty(): AsyncGenerator<Uint8Array> {}

interface FinishedCommand {
  readonly exitCode: number
  readonly stdout: Uint8Array
  readonly stderr: string
  readonly isOver: boolean
}

/** Reads a short command of ours to its end, and at most `maxBytes` of its output. */
async function finish(running: RunningCommand, maxBytes: number): Promise<FinishedCommand> {
  const stdout = createOutputCollector(maxBytes, 'head')
  const stderr = createOutputCollector(4_096, 'head')
  let isOver = false
  const readAll = async (): Promise<void> => {
    for await (const chunk of running.stdout) {
      if (!stdout.push(chunk) || isOver) continue
      isOver = true
      await terminateProcessGroup(running.group, { graceMs: 0 })
    }
  }
  const readErrors = async (): Promise<void> => {
    for await (const chunk of running.stderr) stderr.push(chunk)
  }
  const [exitCode] = await Promise.all([running.exitCode, readAll(), readErrors()])
  running.release()
  return { exitCode, stdout: stdout.bytes(), stderr: Buffer.from(stderr.bytes()).toString('utf8'), isOver }
}

/** Finishes a command that has to exit with 0, or with the one other code that its caller knows. */
async function succeed(
  running: RunningCommand,
  what: string,
  maxBytes = 0,
  knownExitCode = 0,
): Promise<FinishedCommand> {
  const finished = await finish(running, maxBytes)
  if (finished.exitCode === 0 || finished.exitCode === knownExitCode || finished.isOver) return finished
  throw new SandboxError('sandbox_exec_failed', `Could not ${what}: ${excerpt(finished.stderr.trim())}`, {
    details: { exitCode: finished.exitCode },
  })
}
