import { randomBytes } from 'node:crypto'
import { SandboxError } from '@agentrl/spec'
import type { Sandbox as E2bSandbox } from 'e2b'
import { createDetachedCommand, forgetScript } from '../detached-command.ts'
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

/** Two parts in base64, and some. */
const maxAnswerLength = 8 * 1024 * 1024

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
        return runCapped(sandbox, text, user)
      }),
    writeFile: (path, content, user) =>
      attempt('write a file', async () => {
        const bytes = new ArrayBuffer(content.length)
        new Uint8Array(bytes).set(content)
        await sandbox.files.write(path, bytes, { user })
      }),
  }
}

/** Runs a command, and gives up on one that writes more than any of ours does: the SDK would keep it all. */
async function runCapped(sandbox: E2bSandbox, text: string, user: string): Promise<string> {
  const controller = new AbortController()
  let writtenLength = 0
  const count = (part: string): void => {
    writtenLength += part.length
    if (writtenLength > maxAnswerLength) controller.abort()
  }
  const options = { user, timeoutMs: 60_000, signal: controller.signal, onStdout: count, onStderr: count }
  try {
    const { stdout } = await sandbox.commands.run(text, options)
    return stdout
  } catch (error) {
    if (!controller.signal.aborted) throw error
    throw new SandboxError('sandbox_exec_failed', `A command of ours wrote more than ${maxAnswerLength} characters`)
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
  return {
    // Not numbered: a command of the agent could lay out the folder of a later one, with a result of its liking.
    next: () => `/tmp/.agentrl/${randomBytes(8).toString('hex')}`,
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
  const hasInput = await writeInput(calls, `${folder}-input`, stdin, user)
  const first = await detached.launch({
    script: commandScript(['/bin/sh', '-c', 'exec "$@"', 'sh', ...argv], env),
    cwd,
    waitMs: 500,
    read: { stdoutStart: 0, stderrStart: 0, maxBytes: maxReadBytes },
    ...(hasInput ? { inputPath: `${folder}-input` } : {}),
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
      folders.finished.push(folder)
    },
  }
}

/** An input longer than this is sent in parts, so that it is never in memory as a whole. */
const maxPartBytes = 16 * 1024 * 1024

/** $1 input, further: its parts. May be repeated. */
const joinScript = `input=$1; shift
[ -e "$input" ] || { cat -- "$@" > "$input.new" && mv "$input.new" "$input"; } || exit 70
rm -f -- "$@"`

/** Writes an input to a file of the sandbox; false: it is empty, and there is none. */
async function writeInput(calls: E2bCalls, path: string, input: StartCommand['stdin'], user: string): Promise<boolean> {
  if (input === undefined) return false
  const parts: string[] = []
  let pending: Uint8Array[] = []
  let pendingBytes = 0
  const write = async (part: string): Promise<void> => {
    const content = Buffer.concat(pending)
    pending = []
    pendingBytes = 0
    await calls.writeFile(part, content, user)
  }
  for await (const chunk of input instanceof Uint8Array ? [input] : input) {
    pending.push(chunk)
    pendingBytes += chunk.length
    if (pendingBytes < maxPartBytes) continue
    parts.push(`${path}-${parts.length}`)
    await write(`${path}-${parts.length - 1}`)
  }
  if (parts.length === 0) {
    const isEmpty = pendingBytes === 0
    if (!isEmpty) await write(path)
    return !isEmpty
  }
  await write(`${path}-${parts.length}`)
  await calls.run(joinScript, [path, ...parts, `${path}-${parts.length}`], user)
  return true
}

/** A script that first removes what finished commands left; what another user owns stays, and ends with the sandbox. */
function withCleanUp({ finished }: E2bCommandFolders, script: string): string {
  const folders = finished.splice(0)
  if (folders.length === 0) return script
  return `(set -- ${folders.map(quoteShell).join(' ')}\n${forgetScript})\n${script}`
}
