import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { demuxFrames, type ExecFrame, readExecStatus } from './exec-frames.ts'

async function* framesOf(...frames: readonly (readonly [number, string | Uint8Array])[]): AsyncGenerator<ExecFrame> {
  for (const [channel, payload] of frames) yield { channel, payload: Buffer.from(payload) }
}

test('stdout, stderr and the status come apart, and an empty first message is nothing', async () => {
  const { stdout, stderr, status } = demuxFrames(
    framesOf([1, ''], [1, 'out'], [2, 'err'], [1, ' more'], [3, '{"status":"Success"}']),
  )
  const texts = (await Promise.all([buffer(stdout), buffer(stderr)])).map(String)
  expect(texts).toEqual(['out more', 'err'])
  expect(await status).toEqual({ kind: 'exited', exitCode: 0 })
})

test('a connection that ends without a status, or breaks, is cut, and what came is there', async () => {
  const silent = demuxFrames(framesOf([1, 'out']))
  expect(String(await buffer(silent.stdout))).toBe('out')
  expect(await silent.status).toEqual({ kind: 'cut' })
  async function* broken(): AsyncGenerator<ExecFrame> {
    yield { channel: 2, payload: Buffer.from('err') }
    throw new Error('reset')
  }
  const { stdout, stderr, status } = demuxFrames(broken())
  expect(String(await buffer(stderr))).toBe('err')
  expect((await buffer(stdout)).length).toBe(0)
  expect(await status).toEqual({ kind: 'cut' })
})

test('much of an output that nobody reads holds nothing up', async () => {
  const much = Array.from({ length: 40 }, () => [1, Buffer.alloc(32_768)] as const)
  const { stderr, status } = demuxFrames(framesOf(...much, [2, 'line'], [3, '{"status":"Success"}']))
  expect(String(await buffer(stderr))).toBe('line')
  expect(await status).toEqual({ kind: 'exited', exitCode: 0 })
})

// As Kubernetes 1.34 with containerd 1.6 sent them, 2026-11-29.
const nonZero =
  '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: command terminated with exit code 137","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"137"}]}}'

test('a failure with an exit code is an exit, and another failure, or no JSON, is none', () => {
  expect(readExecStatus('{"metadata":{},"status":"Success"}')).toEqual({ kind: 'exited', exitCode: 0 })
  expect(readExecStatus(nonZero)).toEqual({ kind: 'exited', exitCode: 137 })
  const failure = '{"status":"Failure","message":"container not found","reason":"InternalError"}'
  expect(readExecStatus(failure)).toEqual({ kind: 'failed', message: 'container not found' })
  expect(readExecStatus('{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}').kind).toBe(
    'failed',
  )
  expect(readExecStatus('oops')).toEqual({ kind: 'failed', message: 'oops' })
  expect(readExecStatus('null')).toEqual({ kind: 'failed', message: 'null' })
})
