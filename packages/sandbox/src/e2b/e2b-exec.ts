import { buffer } from 'node:stream/consumers'
import type { Sandbox as E2bSandbox } from 'e2b'
import { createDetachedCommand } from '../detached-command.ts'
import { maxOutputFileBytes } from '../exec-and-wait.ts'
import { invalidOption } from '../invalid-option.ts'
import { followDetachedCommand } from '../polled-command.ts'
import { commandScript, quoteShell } from '../quote-shell.ts'
import { retryCalls } from '../retry-calls.ts'
import type { RunningCommand, StartCommand } from '../sandbox-backend.ts'
import { commandProcessGroup } from '../sandbox-process-group.ts'
import { callError } from './e2b-errors.ts'

/** The two calls that everything is made of. Both are free to repeat, and repeat by themselves. */
export interface E2bCalls {
  /** Runs a short shell script and gives its stdout. */
  run(script: string, args: readonly string[], user: string): Promise<string>
  writeFile(path: string, content: Uint8Array, user: string): Promise<void>
}

export interface E2bCallOptions {
  readonly maxFailedCalls?: number
  readonly lookWaitMs?: number
}

/** The most of a stream that one look brings along; as base64 text it is a third more. */
const maxReadBytes = 2 * 1024 * 1024

export function createE2bCalls(
  sandbox: E2bSandbox,
  { maxFailedCalls = 10 }: E2bCallOptions,
  isAlive: () => Promise<boolean>,
): E2bCalls {
  async function attempt<T>(what: string, call: () => Promise<T>): Promise<T> {
    return retryCalls(maxFailedCalls, () =>
      call().catch(async (error: unknown) => {
        throw await callError(error, what, isAlive)
      }),
    )
  }
  return {
    run: (script, args, user) =>
      attempt('run a command', async () => {
        const text = ['/bin/sh', '-c', script, 'sh', ...args].map(quoteShell).join(' ')
        const result = await sandbox.commands.run(text, { user, timeoutMs: 60_000 })
        return result.stdout
      }),
    writeFile: (path, content, user) =>
      attempt('write a file', async () => {
        const bytes = new ArrayBuffer(content.length)
        new Uint8Array(bytes).set(content)
        await sandbox.files.write(path, bytes, { user })
      }),
  }
}

/** Where the commands of one sandbox have their folders. */
export interface E2bCommandFolders {
  /** A folder that no command has had. */
  next(): string
  /** The folders of commands that are over; each is given once, to be removed along with another call. */
  finished: string[]
}

export function createE2bCommandFolders(): E2bCommandFolders {
  let count = 0
  return {
    next() {
      count += 1
      return `/tmp/.agentrl/${count}`
    },
    finished: [],
  }
}

/** Starts a command in a folder of its own. */
export async function startE2bCommand(
  calls: E2bCalls,
  folders: E2bCommandFolders,
  command: StartCommand,
  { lookWaitMs = 5_000 }: E2bCallOptions,
): Promise<RunningCommand> {
  const folder = folders.next()
  const { argv, env, cwd, user = 'root', stdin } = command
  const detached = createDetachedCommand(folder, {
    run: (script, args) => calls.run(withCleanUp(folders, script), args, user),
    async writeFile(name, content) {
      const path = `${folder}-${name}`
      await calls.writeFile(path, Buffer.from(content), user)
      return path
    },
  })
  const input = stdin instanceof Uint8Array ? stdin : stdin === undefined ? new Uint8Array(0) : await buffer(stdin)
  if (input.length > 0) await calls.writeFile(`${folder}-input`, input, user)
  const first = await detached.launch({
    script: commandScript(['/bin/sh', '-c', 'exec "$@"', 'sh', ...argv], env),
    cwd,
    waitMs: 500,
    read: { stdoutStart: 0, stderrStart: 0, maxBytes: maxReadBytes },
    ...(input.length === 0 ? {} : { inputPath: `${folder}-input` }),
  })
  if (first.kind === 'refused') throw invalidOption(`cwd is a folder of the sandbox; found ${cwd}`)
  const running = followDetachedCommand({
    detached,
    first,
    waitMs: lookWaitMs,
    maxReadBytes,
    maxFileBytes: maxOutputFileBytes,
    group: (groupId) =>
      commandProcessGroup({
        name: `process group ${groupId}`,
        groupId,
        run: ([program, ...args]) => calls.run('exec "$@"', [program, ...args], 'root'),
      }),
  })
  return {
    ...running,
    release() {
      running.release()
      folders.finished.push(folder, `${folder}-input`)
    },
  }
}

/** A script that first removes what finished commands left; what another user owns stays, and ends with the sandbox. */
function withCleanUp({ finished }: E2bCommandFolders, script: string): string {
  const folders = finished.splice(0)
  return folders.length === 0 ? script : `rm -rf -- ${folders.map(quoteShell).join(' ')} 2>/dev/null\n${script}`
}
