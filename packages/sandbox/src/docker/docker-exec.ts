import { randomBytes } from 'node:crypto'
import type { Duplex, Readable } from 'node:stream'
import { excerpt, SandboxError } from '@agentrl/spec'
import type { Container, Exec } from 'dockerode'
import { announcedArgv, readAnnouncement } from '../announced-command.ts'
import { invalidOption } from '../invalid-option.ts'
import { createOutputCollector } from '../output-collector.ts'
import type { RunningCommand, StartCommand } from '../sandbox-backend.ts'
import { commandProcessGroup } from '../sandbox-process-group.ts'
import { readShortCommand } from '../short-command.ts'
import { drained } from '../write-part.ts'
import { callError } from './connect-docker.ts'
import { demuxStream } from './demux-stream.ts'

/**
 * Starts a command in a container. The runtime makes it the leader of a session
 * of its own, so its process id is that of its group; it is ended by further
 * commands in the container, since the Engine API can't end an exec.
 */
export async function startDockerExec(container: Container, command: StartCommand): Promise<RunningCommand> {
  const token = randomBytes(6).toString('hex')
  const { exec, stream } = await attach(container, command, announcedArgv(token, command.cwd, command.argv))
  const { stdout, stderr } = demuxStream(stream)
  const announcement = await readAnnouncement(stderr, token)
  if (announcement.kind === 'refused') throw invalidOption(`cwd is a folder of the sandbox; found ${command.cwd}`)
  if (announcement.kind === 'missing') throw await describeFailedStart(command, announcement.written, stdout)
  feed(stream, command.stdin)
  const outputEnded = Promise.all([ended(stdout), ended(stderr)])
  return {
    stdout,
    stderr: announcement.rest,
    exitCode: outputEnded.then(() => readExitCode(exec)),
    group: commandProcessGroup({
      name: `process group ${announcement.processId} of container ${container.id.slice(0, 12)}`,
      groupId: announcement.processId,
      run: (argv) => runDockerExec(container, argv),
    }),
    release() {},
  }
}

/** Runs a short command as root and gives its stdout; rejects with a `SandboxError` unless it exits with 0. */
export async function runDockerExec(container: Container, argv: readonly string[], user = 'root'): Promise<string> {
  const { exec, stream } = await attach(container, { env: {}, user }, argv)
  const { stdout, stderr } = demuxStream(stream)
  return readShortCommand({ stdout, stderr, exitCode: () => readExitCode(exec), cut: () => stream.destroy() })
}

async function attach(
  container: Container,
  { env, user, stdin }: Pick<StartCommand, 'env' | 'user' | 'stdin'>,
  argv: readonly string[],
): Promise<{ exec: Exec; stream: Duplex }> {
  const hasInput = stdin !== undefined && !(stdin instanceof Uint8Array && stdin.length === 0)
  try {
    const exec = await container.exec({
      Cmd: [...argv],
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      AttachStdout: true,
      AttachStderr: true,
      AttachStdin: hasInput,
      ...(user === undefined ? {} : { User: user }),
    })
    return { exec, stream: await exec.start({ hijack: true, stdin: hasInput }) }
  } catch (error) {
    throw callError(error, 'start a command in the container')
  }
}

/** Writes the input and ends it. A command that does not read it is no error: its stream is closed then. */
function feed(stream: Duplex, input: StartCommand['stdin']): void {
  if (input === undefined) return
  stream.on('error', () => {})
  if (input instanceof Uint8Array) stream.end(input)
  else writeAll(stream, input).catch((error: unknown) => stream.destroy(error as Error))
}

async function writeAll(stream: Duplex, input: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of input) {
    if (stream.destroyed) return
    if (!stream.write(chunk)) await drained(stream)
  }
  stream.end()
}

/** The beginning of a text. */
async function readSome(stream: Readable): Promise<string> {
  const collector = createOutputCollector(4_096, 'head')
  for await (const chunk of stream) {
    if (collector.push(chunk)) break
  }
  return Buffer.from(collector.bytes()).toString('utf8')
}

function ended(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve)
  })
}

async function readExitCode(exec: Exec): Promise<number> {
  const found = await exec.inspect().catch((error: unknown) => {
    throw callError(error, 'learn how a command ended')
  })
  if (!found.Running && found.ExitCode !== null) return found.ExitCode
  throw new SandboxError('sandbox_exec_failed', 'The stream of a command was cut', { isRetryable: true })
}

async function describeFailedStart(command: StartCommand, line: string, stdout: Readable): Promise<SandboxError> {
  const written = `${line}${await readSome(stdout)}`
  if (/unable to find user/.test(written)) return invalidOption(`There is no user "${command.user}" in the container`)
  return new SandboxError(
    'sandbox_exec_failed',
    `The container could not start a command: ${excerpt(written.trim())}`,
    {
      isRetryable: true,
    },
  )
}
