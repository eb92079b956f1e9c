import type { Readable, Writable } from 'node:stream'
import { excerpt, SandboxError, unreachable } from '@agentrl/spec'

/** What the init script says; see `init-script.ts`. */
type InitEvent =
  | { readonly kind: 'up' }
  | { readonly kind: 'started'; readonly number: number; readonly processId: number }
  | { readonly kind: 'refused'; readonly number: number }
  | { readonly kind: 'exited'; readonly number: number; readonly exitCode: number }

/** The init process of a sandbox, as the host talks with it. */
export interface InitConnection {
  /** Resolves when the sandbox is up; rejects with `sandbox_boot_failed`. */
  readonly up: Promise<void>
  /** Resolves when the process is over, however that came. */
  readonly over: Promise<void>
  /** Starts a command that is laid out in the control folder. */
  run(number: number): CommandProgress
}

export interface CommandProgress {
  /** The process id inside; undefined: its working folder could not be entered. Rejects with `sandbox_lost`. */
  readonly started: Promise<number | undefined>
  /** Rejects with `sandbox_lost`. */
  readonly exited: Promise<number>
}

interface Settlers {
  start(processId: number | undefined): void
  exit(exitCode: number): void
  fail(error: SandboxError): void
}

export interface InitStreams {
  readonly process: {
    once(event: 'exit', listener: (code: number | null, signal: string | null) => void): unknown
    once(event: 'error', listener: (error: Error) => void): unknown
  }
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}

/** Speaks the protocol of the init script over the standard streams of bubblewrap. */
export function connectInit(name: string, { process, stdin, stdout, stderr }: InitStreams): InitConnection {
  const commands = new Map<number, Settlers>()
  let complaint = ''
  let isOver = false
  let onUp: () => void = () => {}
  let onDown: (error: SandboxError) => void = () => {}
  const up = new Promise<void>((resolve, reject) => {
    onUp = resolve
    onDown = reject
  })
  up.catch(() => {})

  stderr.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < 2_000) complaint += text
  })
  stdin.on('error', () => {
    // A broken pipe means that the process is over, which is noticed below.
  })
  let partOfLine = ''
  stdout.setEncoding('latin1').on('data', (text: string) => {
    const lines = (partOfLine + text).split('\n')
    // What is no line of the init script comes from the sandbox, and may never end.
    partOfLine = (lines.pop() ?? '').slice(0, maxLineLength)
    for (const line of lines) {
      const event = readInitEvent(line)
      if (event !== undefined) handle(event)
    }
  })

  const over = new Promise<void>((resolve) => {
    const end = (how: string): void => {
      if (isOver) return
      isOver = true
      onDown(new SandboxError('sandbox_boot_failed', `${name} did not start (${how}): ${excerpt(complaint.trim())}`))
      const lost = new SandboxError('sandbox_lost', `${name} is gone (${how})`)
      for (const settlers of commands.values()) settlers.fail(lost)
      commands.clear()
      resolve()
    }
    process.once('exit', (code, signal) => end(`bubblewrap ended with ${signal ?? code}`))
    process.once('error', (error) => end(String(error)))
  })

  function handle(event: InitEvent): void {
    switch (event.kind) {
      case 'up':
        onUp()
        break
      case 'started':
        commands.get(event.number)?.start(event.processId)
        break
      case 'refused':
        commands.get(event.number)?.start(undefined)
        break
      case 'exited': {
        const settlers = commands.get(event.number)
        commands.delete(event.number)
        settlers?.exit(event.exitCode)
        // Without effect on a command that has started.
        settlers?.fail(
          new SandboxError('sandbox_exec_failed', `${name} could not start a command`, { isRetryable: true }),
        )
        break
      }
      default:
        unreachable(event)
    }
  }

  return {
    up,
    over,
    run(number) {
      let start: Settlers['start'] = () => {}
      let exit: Settlers['exit'] = () => {}
      let failStart: (error: SandboxError) => void = () => {}
      let failExit: (error: SandboxError) => void = () => {}
      const started = new Promise<number | undefined>((resolve, reject) => {
        start = resolve
        failStart = reject
      })
      const exited = new Promise<number>((resolve, reject) => {
        exit = resolve
        failExit = reject
      })
      for (const promise of [started, exited]) promise.catch(() => {})
      const fail = (error: SandboxError): void => {
        failStart(error)
        failExit(error)
      }
      if (isOver) fail(new SandboxError('sandbox_lost', `${name} is gone`))
      else {
        commands.set(number, { start, exit, fail })
        stdin.write(`run ${number}\n`)
      }
      return { started, exited }
    },
  }
}

/** Longer than any line of the init script. */
const maxLineLength = 100

/** One line of the init script. Anything else is ignored: the sandbox's own processes could write there. */
function readInitEvent(line: string): InitEvent | undefined {
  if (line === 'up') return { kind: 'up' }
  const match = /^(started|refused|exited) (\d{1,9})(?: (\d{1,9}))?$/.exec(line)
  const [, kind, number, value] = match ?? []
  if (kind === 'refused') return { kind, number: Number(number) }
  if (kind === 'started' && value !== undefined) return { kind, number: Number(number), processId: Number(value) }
  if (kind === 'exited' && value !== undefined) return { kind, number: Number(number), exitCode: Number(value) }
  return undefined
}
