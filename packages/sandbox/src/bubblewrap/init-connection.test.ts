import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { connectInit } from './init-connection.ts'

function fakeInit() {
  const process = new EventEmitter()
  const streams = { process, stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  return { streams, process, init: connectInit('sandbox x', streams), said: streams.stdin.setEncoding('utf8') }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the connection with the init process', () => {
  test('a command is started by number, and its events reach it, wherever lines are cut', async () => {
    const { init, streams, said } = fakeInit()
    const { started, exited } = init.run(7)
    for (const part of 'up\nstarted 7 42\nexited 7 3\n') streams.stdout.write(part)
    expect(await started).toBe(42)
    expect(await exited).toBe(3)
    expect(said.read()).toBe('run 7\n')
    await init.up
  })

  test('a refused command has no process', async () => {
    const { init, streams } = fakeInit()
    const { started } = init.run(1)
    streams.stdout.write('refused 1\n')
    expect(await started).toBeUndefined()
  })

  test('a command that ends before it has started could not be started', async () => {
    const { init, streams } = fakeInit()
    const { started } = init.run(1)
    streams.stdout.write('exited 1 2\n')
    await expect(started).rejects.toMatchObject({ code: 'sandbox_exec_failed', isRetryable: true })
  })

  test('lines of another form, of unknown commands and beyond any number are ignored', async () => {
    const { init, streams } = fakeInit()
    const { started, exited } = init.run(1)
    streams.stdout.write('hello\nstarted 2 9\nexited 99999999999 0\nexited 1\nstarted 1 x\nstarted 1 5\nexited 1 0\n')
    expect([await started, await exited]).toEqual([5, 0])
  })

  test('a line without end, which only a hostile command writes, is not kept', async () => {
    const { init, streams } = fakeInit()
    const { started } = init.run(1)
    const part = Buffer.alloc(1024 * 1024, 'x')
    const before = process.memoryUsage()
    for (let count = 0; count < 300; count += 1) {
      streams.stdout.write(part)
      await turn()
    }
    const after = process.memoryUsage()
    streams.stdout.write('\nstarted 1 5\n')
    expect(await started).toBe(5)
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(100 * 1024 * 1024)
  })

  test('an end before "up" is a failed boot with what was complained about', async () => {
    const { init, streams, process } = fakeInit()
    streams.stderr.write('bwrap: no permission\n')
    await turn()
    process.emit('exit', 1, null)
    await expect(init.up).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringContaining('no permission'),
    })
    await init.over
  })

  test('an end later loses what runs and what comes', async () => {
    const { init, streams, process } = fakeInit()
    const { started, exited } = init.run(1)
    streams.stdout.write('up\nstarted 1 5\n')
    await started
    process.emit('exit', null, 'SIGKILL')
    await expect(exited).rejects.toMatchObject({ code: 'sandbox_lost' })
    await expect(init.run(2).started).rejects.toMatchObject({ code: 'sandbox_lost' })
  })
})
