import { expect, test } from 'vitest'
import { createFileCalls } from './file-calls.ts'
import type { FileBackend } from './sandbox-backend.ts'

function callsOver(files: Partial<FileBackend>) {
  return createFileCalls({
    files: files as FileBackend,
    workdir: '/app',
    clock: { now: () => 0 },
    ending: new AbortController().signal,
    abandonMs: 10,
    checkOpen: () => {},
    track: (work) => work,
    trace: async () => {},
  })
}

test('a driver that hangs does not hold the caller who gave up', async () => {
  const calls = callsOver({ exists: () => new Promise(() => {}) })
  const controller = new AbortController()
  const looking = calls.exists('x', { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(looking).rejects.toThrow('enough')
})

test('a source that fails fails the call, also where the driver took it for the end', async () => {
  const calls = callsOver({
    async writeFile(_, content) {
      try {
        for await (const _ of content);
      } catch {
        // As a connection does that is closed early: its other end can't tell.
      }
    },
  })
  async function* source(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1)
    throw new Error('half way')
  }
  await expect(calls.writeFile('x', source())).rejects.toMatchObject({
    code: 'sandbox_exec_failed',
    message: expect.stringContaining('half way'),
  })
})
