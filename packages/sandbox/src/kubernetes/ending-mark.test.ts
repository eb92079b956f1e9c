import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { endingMark, splitEndingMark } from './ending-mark.ts'

const mark = `${endingMark('t0')}137\n`
const whole = Buffer.from(`half a line agentrl-ended t1 0\nagentrl-${mark}more\n`)

test.each(Array.from({ length: whole.length + 1 }, (_, index) => index))(
  'the mark is taken off wherever it stands, cut after %i bytes',
  async (at) => {
    const { rest, exitCode } = splitEndingMark(Readable.from([whole.subarray(0, at), whole.subarray(at)]), 't0')
    expect((await buffer(Readable.from(rest))).toString()).toBe('half a line agentrl-ended t1 0\nagentrl-more\n')
    expect(await exitCode).toBe(137)
  },
)

test('the mark is found where the stream comes byte by byte', async () => {
  const bytes = Array.from(whole, (byte) => Buffer.of(byte))
  const { rest, exitCode } = splitEndingMark(Readable.from(bytes), 't0')
  expect((await buffer(Readable.from(rest))).toString()).toBe('half a line agentrl-ended t1 0\nagentrl-more\n')
  expect(await exitCode).toBe(137)
})

test('what is no mark comes at once, and what may become one comes at the end', async () => {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('output\nagentrl-')
    yield Buffer.from('end')
  }
  const parts: string[] = []
  for await (const part of splitEndingMark(source(), 't0').rest) parts.push(Buffer.from(part).toString())
  expect(parts).toEqual(['output\n', 'agentrl-end'])
})
