import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import { execa } from 'execa'
import { systemPath } from './command-environment.ts'
import { invalidOption } from './invalid-option.ts'
import { createOutputCollector } from './output-collector.ts'
import { terminateProcessGroup } from './process-group.ts'
import type { FileBackend, RunningCommand, SandboxBackend, StartCommand } from './sandbox-backend.ts'
import { unpackTar } from './unpack-tar.ts'

/**
 * File calls as commands of the sandbox (`cat`, `tar`): they see the sandbox's
 * own file system, so no path or link can lead to a file of the host.
 */
export function commandFiles(backend: Pick<SandboxBackend, 'start' | 'options'>): FileBackend {
  const run = (script: string, args: readonly string[], rest: Pick<StartCommand, 'stdin' | 'user'>) =>
    backend.start({
      argv: ['/bin/sh', '-c', script, 'sh', ...args],
      env: { PATH: systemPath, LC_ALL: 'C' },
      cwd: '/',
      ...rest,
    })

  const asUser = (user: string | undefined): { user?: string } => (user === undefined ? {} : { user })

  async function kindOf(path: string, user: string | undefined): Promise<'file' | 'folder' | 'other' | 'absent'> {
    const script =
      'if [ -f "$1" ]; then exit 40; elif [ -d "$1" ]; then exit 41; elif [ -e "$1" ]; then exit 42; else exit 43; fi'
    const { exitCode } = await finish(await run(script, [path], asUser(user)), 0)
    if (exitCode === 40) return 'file'
    if (exitCode === 41) return 'folder'
    return exitCode === 42 ? 'other' : 'absent'
  }

  async function requireFile(path: string, user: string | undefined): Promise<void> {
    const kind = await kindOf(path, user)
    if (kind === 'absent') throw new SandboxError('sandbox_file_not_found', `There is no file ${path} in the sandbox`)
    if (kind !== 'file')
      throw invalidOption(`${path} is not a file but ${kind === 'folder' ? 'a folder' : 'something else'}`)
  }

  return {
    async writeFile(path, content, { mode, user }) {
      const script = 'mkdir -p -- "$3" && cat > "$1" && chmod "$2" "$1"'
      const running = await run(script, [path, mode.toString(8), dirname(path)], { stdin: content, ...asUser(user) })
      await succeed(running, `write ${path}`)
    },
    async readFile(path, { maxBytes, user }) {
      await requireFile(path, user)
      const running = await run('exec cat < "$1"', [path], asUser(user))
      const { stdout, isOver } = await succeed(running, `read ${path}`, maxBytes)
      if (isOver) throw invalidOption(`${path} has more than ${maxBytes} bytes`)
      return stdout
    },
    async exists(path, { user }) {
      return (await kindOf(path, user)) !== 'absent'
    },
    async upload(hostPath, path, { user }) {
      const found = await stat(hostPath)
      if (!found.isDirectory()) {
        return this.writeFile(path, createReadStream(hostPath), { mode: found.mode & 0o777, ...asUser(user) })
      }
      const packing = execa('tar', ['-C', hostPath, '-cf', '-', '.'], { encoding: 'buffer', buffer: false })
      const script = 'mkdir -p -- "$1" && exec tar -C "$1" -xof -'
      const unpacking = await run(script, [path], { stdin: packing.iterable({ binary: true }), ...asUser(user) })
      await succeed(unpacking, `unpack into ${path}`)
      await packing
    },
    async download(path, hostPath, { user }) {
      const kind = await kindOf(path, user)
      if (kind === 'folder') {
        const packing = await run('exec tar -C "$1" -cf - .', [path], asUser(user))
        await unpackTar(packing.stdout, hostPath).catch(async (error: unknown) => {
          await terminateProcessGroup(packing.group, { graceMs: 0 })
          throw error
        })
        await readToEnd(packing.stdout)
        await succeed({ ...packing, stdout: empty() }, `pack ${path}`)
        return
      }
      await requireFile(path, user)
      await mkdir(dirname(hostPath), { recursive: true })
      const reading = await run('exec cat < "$1"', [path], asUser(user))
      await pipeline(reading.stdout, createWriteStream(hostPath))
      await succeed({ ...reading, stdout: empty() }, `read ${path}`)
    },
  }
}

/** Reads what nobody needs, so that its writer can end: an archive is followed by blocks of zeros. */
async function readToEnd(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of stream) {
    // Nothing in it is of use.
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

async function succeed(running: RunningCommand, what: string, maxBytes = 0): Promise<FinishedCommand> {
  const finished = await finish(running, maxBytes)
  if (finished.exitCode === 0 || finished.isOver) return finished
  throw new SandboxError('sandbox_exec_failed', `Could not ${what}: ${excerpt(finished.stderr.trim())}`, {
    details: { exitCode: finished.exitCode },
  })
}
