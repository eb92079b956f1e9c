import { isAgentRlError } from '@agentrl/spec'
import type { Sandbox } from '../../sandbox.ts'
import type { ExecOutcome } from '../../sandbox-types.ts'
import { ConnectFailure, type ConnectStream } from './connect-wire.ts'

/** What a client asks to start. */
export interface StartRequest {
  readonly argv: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly user: string | undefined
  /** The process is ended after this long. */
  readonly timeoutMs: number
}

/** The processes of one envd, by numbers of its own. */
export interface EnvdProcesses {
  /** Starts a process and tells its events to `stream` until it ends. A client that leaves changes nothing. */
  start(request: StartRequest, stream: ConnectStream): Promise<void>
  /** Tells the further events of a process. Throws `ConnectFailure`. */
  connect(processId: number, stream: ConnectStream): Promise<void>
  list(): readonly { readonly processId: number; readonly argv: readonly string[] }[]
  /** Ends a process. Throws `ConnectFailure`. */
  kill(processId: number): void
}

interface Running {
  readonly processId: number
  readonly argv: readonly string[]
  readonly controller: AbortController
  readonly listeners: Set<ConnectStream>
  readonly over: Promise<void>
}

/** The smallest cap: the output goes to the stream as it comes, none is kept. */
const keptBytes = 1

export function createEnvdProcesses(sandbox: Sandbox): EnvdProcesses {
  const running = new Map<number, Running>()
  let lastProcessId = 1_000

  function find(processId: number): Running {
    const found = running.get(processId)
    if (found === undefined) throw new ConnectFailure('not_found', `process with pid ${processId} not found`)
    return found
  }

  async function run(
    request: StartRequest,
    processId: number,
    controller: AbortController,
    listeners: Set<ConnectStream>,
  ): Promise<void> {
    const tell = (event: unknown): void => {
      for (const listener of listeners) listener.send({ event })
    }
    tell({ start: { pid: processId } })
    let failure: ConnectFailure | undefined
    try {
      const outcome = await sandbox.exec(request.argv, {
        env: request.env,
        timeoutMs: request.timeoutMs,
        maxOutputBytes: keptBytes,
        overflow: 'keep-tail',
        signal: controller.signal,
        graceMs: 0,
        onOutput: (name, chunk) => tell({ data: { [name]: Buffer.from(chunk).toString('base64') } }),
        ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
        ...(request.user === undefined ? {} : { user: request.user }),
      })
      failure =
        outcome.kind === 'timed_out' ? new ConnectFailure('deadline_exceeded', 'context deadline exceeded') : undefined
      if (failure === undefined) tell({ end: describeEnd(outcome) })
    } catch (error) {
      failure = startFailure(error)
    }
    running.delete(processId)
    for (const listener of listeners) listener.end(failure)
  }

  return {
    async start(request, stream) {
      lastProcessId += 1
      const processId = lastProcessId
      const controller = new AbortController()
      const listeners = new Set([stream])
      const over = run(request, processId, controller, listeners)
      running.set(processId, { processId, argv: request.argv, controller, listeners, over })
      await over
      running.delete(processId)
    },
    async connect(processId, stream) {
      const found = find(processId)
      stream.send({ event: { start: { pid: processId } } })
      found.listeners.add(stream)
      await found.over
    },
    list: () => [...running.values()].map(({ processId, argv }) => ({ processId, argv })),
    kill(processId) {
      find(processId).controller.abort()
    },
  }
}

function describeEnd(outcome: ExecOutcome): unknown {
  // A process that was killed has no exit code of its own; proto3 JSON leaves out a 0.
  if (outcome.kind !== 'exited') return { exited: false, exitCode: -1, status: 'signal: killed' }
  return {
    exited: true,
    status: `exit status ${outcome.exitCode}`,
    ...(outcome.exitCode === 0 ? {} : { exitCode: outcome.exitCode }),
  }
}

function startFailure(error: unknown): ConnectFailure {
  const message = String(error)
  if (!isAgentRlError(error)) return new ConnectFailure('internal', message)
  if (/found user/.test(message)) return new ConnectFailure('unauthenticated', 'invalid username')
  return new ConnectFailure(error.code === 'sandbox_invalid_option' ? 'invalid_argument' : 'internal', message)
}
