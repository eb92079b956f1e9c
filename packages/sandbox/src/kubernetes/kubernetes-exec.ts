import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import { readAnnouncement } from '../announced-command.ts'
import { invalidOption } from '../invalid-option.ts'
import { commandScript, quoteShell } from '../quote-shell.ts'
import type { RunningCommand, StartCommand } from '../sandbox-backend.ts'
import { commandProcessGroup } from '../sandbox-process-group.ts'
import { readShortCommand } from '../short-command.ts'
import type { ExecConnection, KubernetesCalls } from './connect-kubernetes.ts'
import { endingMark, splitEndingMark } from './ending-mark.ts'
import { demuxFrames, type ExecStatus } from './exec-frames.ts'
import { callError } from './kubernetes-errors.ts'
import { readPodState } from './pod-state.ts'

/**
 * What an exec of Kubernetes is asked to run: a shell that takes the command as
 * lines of its input, up to the line $1. The API server sees and logs what is
 * on the URL, where a command with its variables must not be; a URL is short,
 * and a command may be long. A connection that is cut before the line runs
 * nothing. The shell reads bytewise, so what follows is the command's input.
 */
export const receiveScript: string = `exec 3>&2 2>/dev/null
agentrl_text=
while IFS= read -r agentrl_line; do
[ "$agentrl_line" = "$1" ] && break
agentrl_text=$agentrl_text$agentrl_line'
'
done
[ "$agentrl_line" = "$1" ] && eval "$agentrl_text"`

/**
 * The lines: the shell enters the working folder, tells its process id, which
 * is that of the group, runs the command and tells its exit code. The runtime
 * does so only when nobody holds the outputs any more, and a child in the
 * background may hold them for ever.
 */
export function receivedScript(token: string, { cwd, argv, env }: StartCommand): string {
  return `cd -- ${quoteShell(cwd)} || { echo 'agentrl-refused ${token}' >&3; exit 126; }
echo "agentrl-started ${token} $$" >&3
(
${commandScript(['/bin/sh', '-c', 'exec "$@"', 'sh', ...argv], env)}) 2>&3 3>&-
agentrl_code=$?
echo "${endingMark(token)}$agentrl_code" >&3
exit $agentrl_code
`
}

/** After a command told its exit code, its connection has this long to end with the last of the output. */
const closeMs = 500

/** A command that did not start has this long to be told so by the runtime, unless its shell is not what it was. */
const maxStatusMs = 2_000

/** Starts a command in a pod. */
export async function startKubernetesExec(
  calls: KubernetesCalls,
  pod: string,
  command: StartCommand,
): Promise<RunningCommand> {
  const [lastLine, token] = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')]
  const connection = await connect(calls, pod, ['/bin/sh', '-c', receiveScript, 'sh', lastLine])
  const { stdout, stderr, status } = demuxFrames(connection.frames)
  feed(connection, `${receivedScript(token, command)}${lastLine}\n`, command.stdin).catch(() => connection.close())
  const announcement = await readAnnouncement(stderr, token)
  if (announcement.kind === 'refused') throw invalidOption(`cwd is a folder of the sandbox; found ${command.cwd}`)
  if (announcement.kind === 'missing') {
    stdout.destroy()
    const ended = await Promise.race([status, delay(maxStatusMs, undefined, { ref: false })])
    connection.close()
    throw await describeFailedStart(calls, pod, announcement.written, ended)
  }
  const { rest, exitCode: told } = splitEndingMark(announcement.rest, token)
  return {
    stdout,
    stderr: rest,
    exitCode: readExitCode(calls, pod, told, status),
    group: commandProcessGroup({
      name: `process group ${announcement.processId} of pod ${pod}`,
      groupId: announcement.processId,
      run: (argv) => runKubernetesExec(calls, pod, argv),
    }),
    release: () => connection.unref(),
  }
}

/** Runs a short command and gives its stdout; rejects with a `SandboxError` unless it exits with 0. */
export async function runKubernetesExec(calls: KubernetesCalls, pod: string, argv: readonly string[]): Promise<string> {
  const connection = await connect(calls, pod, argv)
  connection.endInput()
  const { stdout, stderr, status } = demuxFrames(connection.frames)
  const exitCode = async (): Promise<number> => exitCodeOf(calls, pod, await status)
  return readShortCommand({ stdout, stderr, exitCode, cut: () => connection.close() })
}

async function connect(calls: KubernetesCalls, pod: string, argv: readonly string[]): Promise<ExecConnection> {
  try {
    return await calls.exec(pod, argv)
  } catch (error) {
    throw (await findLoss(calls, pod)) ?? callError(error, 'start a command in the pod')
  }
}

/** Sends the script and the input and ends it. A command that does not read it is no error: its connection closes then. */
async function feed(connection: ExecConnection, script: string, input: StartCommand['stdin']): Promise<void> {
  let isOpen = await connection.send(Buffer.from(script))
  for await (const chunk of input instanceof Uint8Array ? [input] : (input ?? [])) {
    if (!isOpen) return
    isOpen = await connection.send(chunk)
  }
  connection.endInput()
}

/**
 * The runtime's word counts where it comes in time: then the output is whole.
 * Where the shell did not come to tell a code, it was killed, maybe with its pod.
 */
async function readExitCode(
  calls: KubernetesCalls,
  pod: string,
  told: Promise<number>,
  status: Promise<ExecStatus>,
): Promise<number> {
  let isTold = false
  const late = told.then(async (exitCode) => {
    isTold = true
    await delay(closeMs, undefined, { ref: false })
    return exitCode
  })
  const ended = status.then(async (how) => {
    const lost = how.kind === 'exited' && !isTold ? await awaitLoss(calls, pod) : undefined
    if (lost !== undefined) throw lost
    return exitCodeOf(calls, pod, how)
  })
  return Promise.race([ended, late])
}

async function exitCodeOf(calls: KubernetesCalls, pod: string, status: ExecStatus): Promise<number> {
  if (status.kind === 'exited') return status.exitCode
  const what = status.kind === 'cut' ? 'The connection of a command was cut' : `A command failed: ${status.message}`
  throw (await findLoss(calls, pod)) ?? new SandboxError('sandbox_exec_failed', excerpt(what), { isRetryable: true })
}

async function describeFailedStart(
  calls: KubernetesCalls,
  pod: string,
  written: string,
  status: ExecStatus | undefined,
): Promise<SandboxError> {
  const lost = await findLoss(calls, pod)
  if (lost !== undefined) return lost
  const said = status?.kind === 'failed' ? status.message : written
  return new SandboxError('sandbox_exec_failed', `The pod could not start a command: ${excerpt(said.trim())}`, {
    isRetryable: true,
  })
}

/** The error of a pod that is gone or over; undefined while it runs, and when the API server does not say. */
async function findLoss(calls: KubernetesCalls, pod: string): Promise<SandboxError | undefined> {
  const looked = await calls.readPod(pod).then(
    (found) => ({ found }),
    () => undefined,
  )
  if (looked === undefined) return undefined
  const state = looked.found === undefined ? undefined : readPodState(looked.found)
  if (state === undefined) return new SandboxError('sandbox_lost', `Pod ${pod} is gone`)
  return state.kind === 'failed' ? new SandboxError('sandbox_lost', `Pod ${pod} is over: ${state.reason}`) : undefined
}

/** A node tells of the end of a pod this much later than of that of its commands, if it is not too busy. */
const [lossLooks, lossLookMs] = [8, 200]

/** The same, for a pod that may be about to be over. */
async function awaitLoss(calls: KubernetesCalls, pod: string): Promise<SandboxError | undefined> {
  for (let looks = 1; looks < lossLooks; looks += 1) {
    const lost = await findLoss(calls, pod)
    if (lost !== undefined) return lost
    await delay(lossLookMs, undefined, { ref: false })
  }
  return findLoss(calls, pod)
}
