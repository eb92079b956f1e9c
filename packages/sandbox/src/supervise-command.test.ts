import { expect, test } from 'vitest'
import type { RunningCommand } from './sandbox-backend.ts'
import { type CommandLimits, superviseCommand } from './supervise-command.ts'

const limits: CommandLimits = {
  timeoutMs: 60_000,
  maxOutputBytes: 100,
  overflow: 'end',
  graceMs: 0,
  signal: new AbortController().signal,
  onOutput() {},
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

/** A command that has written and exited; counts the signals that its group gets. */
function finishedCommand(stdout: AsyncIterable<Uint8Array>): RunningCommand & { signals: string[] } {
  const signals: string[] = []
  return {
    signals,
    stdout,
    stderr: chunks(),
    exitCode: Promise.resolve(0),
    group: {
      name: 'group',
      signal: async (signal) => void signals.push(signal),
      survivors: async () => (signals.length === 0 ? ['process 1'] : []),
    },
    release() {},
  }
}

const noLateWork = (): never => {
  throw new Error('nothing comes late here')
}

test('a start that fails is passed on', async () => {
  const start = async (): Promise<never> => {
    throw new Error('no process')
  }
  await expect(superviseCommand(start, limits, noLateWork)).rejects.toThrow('no process')
})

test('a start that hangs is over at the timeout, and a command that comes late is ended', async () => {
  let arrive: (running: RunningCommand) => void = () => {}
  const late: Promise<void>[] = []
  const start = (): Promise<RunningCommand> =>
    new Promise((resolve) => {
      arrive = resolve
    })
  const outcome = await superviseCommand(start, { ...limits, timeoutMs: 5 }, (work) => late.push(work), 5)
  expect(outcome).toMatchObject({ kind: 'timed_out', timeoutMs: 5, stdout: '' })
  const running = finishedCommand(chunks())
  arrive(running)
  await Promise.all(late)
  expect([late.length, running.signals]).toEqual([1, ['SIGKILL']])
})

test('a command that starts a little late is ended before the outcome is known', async () => {
  const running = finishedCommand(chunks('before'))
  const start = async (): Promise<RunningCommand> => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return { ...running, exitCode: new Promise(() => {}) }
  }
  const outcome = await superviseCommand(start, { ...limits, timeoutMs: 1 }, noLateWork)
  expect(outcome).toMatchObject({ kind: 'timed_out', stdout: 'before' })
  expect(running.signals).toEqual(['SIGKILL'])
})

test('what onOutput throws ends the command and rejects', async () => {
  const running = finishedCommand(chunks('a', 'b'))
  const hears = {
    ...limits,
    onOutput() {
      throw new Error('deaf')
    },
  }
  const start = async (): Promise<RunningCommand> => ({ ...running, exitCode: new Promise(() => {}) })
  await expect(superviseCommand(start, hears, noLateWork)).rejects.toThrow('deaf')
  expect(running.signals).toEqual(['SIGKILL'])
})

test('a stream that breaks gives what came before', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('before')
    throw new Error('reset')
  }
  const outcome = await superviseCommand(async () => finishedCommand(broken()), limits, noLateWork)
  expect(outcome).toMatchObject({ kind: 'exited', exitCode: 0, stdout: 'before' })
})

test('a lost sandbox is an error and not an outcome', async () => {
  const running = { ...finishedCommand(chunks()), exitCode: Promise.reject(new Error('gone')) }
  await expect(superviseCommand(async () => running, limits, noLateWork)).rejects.toThrow('gone')
})
