import { access, constants, lstat, readlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { SandboxError, type SandboxId } from '@agentrl/spec'
import { execa } from 'execa'
import { type BubblewrapArguments, bubblewrapArguments, type SystemPath } from './bubblewrap-arguments.ts'
import { connectInit, type InitConnection } from './init-connection.ts'
import { controlPath } from './init-script.ts'
import { openProcessNamespace, type ProcessNamespace } from './namespace-processes.ts'

/** A running bubblewrap with its init process. */
export interface Bubblewrap {
  readonly init: InitConnection
  readonly namespace: ProcessNamespace
  /** Ends it at once; everything inside ends with it. */
  kill(): void
}

export interface StartBubblewrapOptions {
  readonly id: SandboxId
  readonly program: string
  /** Bound for reaching the init process. */
  readonly timeoutMs: number
}

/** Starts bubblewrap and waits until its init process answers. Throws `sandbox_boot_failed` and leaves nothing then. */
export async function startBubblewrap(
  parts: Omit<BubblewrapArguments, 'system'>,
  { id, program, timeoutMs }: StartBubblewrapOptions,
): Promise<Bubblewrap> {
  const name = `sandbox ${id}`
  const path = await findProgram(program)
  const argumentsText = bubblewrapArguments({ ...parts, system: await readSystemPaths() }).join('\0')
  // They go over a pipe: on argv they would tell the sandbox where its folders are on the host.
  const subprocess = execa(path, ['--info-fd', '3', '--args', '4', '/bin/sh', `${controlPath}/init.sh`], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', new TextEncoder().encode(`${argumentsText}\0`)],
    detached: true,
    extendEnv: false,
    env: { AGENTRL_SANDBOX_ID: id },
    buffer: false,
    reject: false,
  })
  const init = connectInit(name, {
    process: subprocess,
    stdin: subprocess.stdin,
    stdout: subprocess.stdout,
    stderr: subprocess.stderr,
  })
  const kill = (): void => {
    subprocess.kill('SIGKILL')
  }
  const timer = setTimeout(kill, timeoutMs)
  try {
    const [info] = await Promise.all([readInfo(subprocess.stdio[3]), init.up])
    return { init, namespace: openProcessNamespace(info.childProcessId, name), kill }
  } catch (cause) {
    kill()
    await init.over
    throw await init.up.then(
      () => new SandboxError('sandbox_boot_failed', `${name} did not start: ${String(cause)}`, { cause }),
      (error: unknown) => error,
    )
  } finally {
    clearTimeout(timer)
  }
}

/** What bubblewrap writes about itself: `{"child-pid": 4711, …}`. */
async function readInfo(stream: unknown): Promise<{ childProcessId: number }> {
  const written = await text(stream as Readable)
  const raw: unknown = written === '' ? undefined : JSON.parse(written)
  const childProcessId = (raw as { 'child-pid'?: unknown } | undefined)?.['child-pid']
  if (typeof childProcessId !== 'number') throw new TypeError('bubblewrap did not say its child')
  return { childProcessId }
}

/** The parts of this machine's system that hold programs and libraries; on most, `/bin` and `/lib` are links into `/usr`. */
async function readSystemPaths(): Promise<readonly SystemPath[]> {
  const paths = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
  const found = await Promise.all(paths.map((path) => readSystemPath(path)))
  return found.flatMap((part) => part ?? [])
}

async function readSystemPath(path: string): Promise<SystemPath | undefined> {
  const stat = await lstat(path).catch(() => undefined)
  if (stat === undefined) return undefined
  return stat.isSymbolicLink() ? { kind: 'link', path, target: await readlink(path) } : { kind: 'folder', path }
}

/** The path of a program that is looked for as a shell would. Throws `sandbox_boot_failed`. */
async function findProgram(program: string): Promise<string> {
  if (program.includes('/')) return program
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, program)
    const isFound = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isFound) return path
  }
  throw new SandboxError('sandbox_boot_failed', `The program "${program}" is not on PATH; install bubblewrap`)
}
