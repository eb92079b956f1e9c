import { excerpt } from '@agentrl/spec'
import { checkEnv, checkInteger } from './boot-options.ts'
import { invalidOption } from './invalid-option.ts'
import type { SandboxBackend, StartCommand } from './sandbox-backend.ts'
import { normalizeSandboxPath } from './sandbox-path.ts'
import type { Command, ExecOptions } from './sandbox-types.ts'
import type { CommandLimits } from './supervise-command.ts'

/** One string on argv or in the environment is refused by Linux from 131,072 bytes on; we stop earlier, at 120 KiB. */
export const maxArgumentBytes: number = 120 * 1024
/** All strings of argv and the environment together: Linux gives a quarter of the stack limit, 2 MiB by default. */
const maxAllArgumentsBytes = 1_900_000

/** A command in the form that drivers run; `script` is a text too long for argv, to be run from a file. */
export type PreparedCommand =
  | { readonly kind: 'argv'; readonly start: StartCommand }
  | { readonly kind: 'script'; readonly script: string; readonly start: Omit<StartCommand, 'argv'> }

/** Checks a command and its options, and fills in defaults. Throws `sandbox_invalid_option` and `sandbox_path_outside`. */
export function prepareCommand(command: Command, options: ExecOptions, backend: SandboxBackend): PreparedCommand {
  checkEnv(options.env ?? {})
  const env = { ...backend.env, ...backend.options.env, ...options.env }
  const workdir = backend.options.workdir
  const start = {
    env,
    cwd: backend.commandPath(normalizeSandboxPath(options.cwd ?? workdir, workdir)),
    stdin: typeof options.stdin === 'string' ? Buffer.from(options.stdin) : (options.stdin ?? new Uint8Array(0)),
    ...(options.user === undefined ? {} : { user: checkUser(options.user) }),
  }
  if (typeof command === 'string') {
    if (command.includes('\0')) throw invalidOption(`A command has no NUL; found ${JSON.stringify(excerpt(command))}`)
    if (Buffer.byteLength(command) > maxArgumentBytes) return { kind: 'script', script: command, start }
  }
  const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command
  checkArguments(argv, env)
  return { kind: 'argv', start: { ...start, argv } }
}

/** Checks the limits of a command and fills in defaults. Throws `sandbox_invalid_option`. */
export function prepareLimits(options: ExecOptions, signal: AbortSignal): CommandLimits {
  const { timeoutMs = 600_000, maxOutputBytes = 8 * 1024 * 1024, graceMs = 2_000, overflow = 'end' } = options
  checkInteger('timeoutMs', timeoutMs, 1, 86_400_000)
  checkInteger('maxOutputBytes', maxOutputBytes, 1, 2 ** 30)
  checkInteger('graceMs', graceMs, 0, 600_000)
  return { timeoutMs, maxOutputBytes, graceMs, overflow, signal, onOutput: options.onOutput ?? (() => {}) }
}

function checkArguments(argv: readonly string[], env: Readonly<Record<string, string>>): void {
  const [program] = argv
  if (program === undefined || program === '') throw invalidOption('A command names a program')
  let totalBytes = 0
  for (const text of [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]) {
    if (text.includes('\0')) throw invalidOption(`A command has no NUL; found ${JSON.stringify(excerpt(text))}`)
    const sizeBytes = Buffer.byteLength(text)
    totalBytes += sizeBytes + 9
    if (sizeBytes > maxArgumentBytes) {
      throw invalidOption(
        `An argument or environment variable has at most ${maxArgumentBytes} bytes; found ${sizeBytes}. Write it to a file or to stdin`,
      )
    }
  }
  if (totalBytes > maxAllArgumentsBytes) {
    throw invalidOption(
      `Arguments and environment have at most ${maxAllArgumentsBytes} bytes together; found ${totalBytes}. Write them to a file or to stdin`,
    )
  }
}

function checkUser(user: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/.test(user)) return user
  throw invalidOption(`A user is a name of 1 to 32 characters of A-Z a-z 0-9 . _ -; found "${excerpt(user)}"`)
}
