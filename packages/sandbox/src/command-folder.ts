import { closeSync, constants, createWriteStream, openSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { execa } from 'execa'
import { quoteShell } from './quote-shell.ts'
import type { StartCommand } from './sandbox-backend.ts'

/**
 * A command laid out in a folder of the host, for a shell to become it:
 *
 *     run.sh           enters cwd, says "started <number> <process id>" on descriptor 3, becomes the command
 *     stdin            a file
 *     stdout, stderr   named pipes, whose other ends are open here
 *
 * Named pipes and not what Node gives a child: those are sockets, and a script
 * that writes to /dev/stderr can't open a socket.
 */
export interface CommandFolder {
  /** Starts reading. To be called when the command has its ends open: before that there is no end to wait for. */
  readStreams(): { readonly stdout: Socket; readonly stderr: Socket; release(): void }
  /** Closes what was never read and removes the folder; what is being read is read to its end. */
  remove(): Promise<void>
}

/** Lays out command `number` in `folder`, which must not exist. */
export async function createCommandFolder(
  folder: string,
  number: number,
  command: StartCommand,
): Promise<CommandFolder> {
  await mkdir(folder, { recursive: true })
  await Promise.all([
    execa('mkfifo', ['-m', '600', join(folder, 'stdout'), join(folder, 'stderr')]),
    writeFile(join(folder, 'run.sh'), runScript(number, command)),
    writeInput(join(folder, 'stdin'), command.stdin ?? new Uint8Array(0)),
  ])
  const stdout = openPipe(join(folder, 'stdout'))
  const stderr = openPipe(join(folder, 'stderr'))
  let isRead = false
  return {
    readStreams() {
      isRead = true
      const sockets = [readPipe(stdout), readPipe(stderr)] as const
      return {
        stdout: sockets[0],
        stderr: sockets[1],
        release() {
          // A child in the background may hold the other end for as long as the sandbox lives.
          for (const socket of sockets) socket.unref()
        },
      }
    },
    async remove() {
      if (!isRead) for (const descriptor of [stdout, stderr]) closeSync(descriptor)
      isRead = true
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * What becomes the command. Descriptor 3 is the init script's voice: it is
 * closed before the command begins. The inner shell turns a program that can't
 * be run into exit code 126 or 127.
 */
function runScript(number: number, { argv, env, cwd }: StartCommand): string {
  const assignments = Object.entries(env).map(([name, value]) => quoteShell(`${name}=${value}`))
  return [
    `cd -- ${quoteShell(cwd)} 2>/dev/null || { echo "refused ${number}" >&3; exit 126; }`,
    `echo "started ${number} $$" >&3`,
    'exec 3>&-',
    `exec env -i ${assignments.join(' ')} /bin/sh -c 'exec "$@"' sh ${argv.map(quoteShell).join(' ')}`,
    '',
  ].join('\n')
}

function writeInput(path: string, input: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  return input instanceof Uint8Array ? writeFile(path, input) : pipeline(input, createWriteStream(path))
}

/** Opens a named pipe for reading without waiting for a writer. */
function openPipe(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
}

function readPipe(descriptor: number): Socket {
  return new Socket({ fd: descriptor, readable: true, writable: false })
}
