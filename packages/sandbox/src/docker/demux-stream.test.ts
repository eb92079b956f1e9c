import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { demuxStream } from './demux-stream.ts'

function frame(stream: 1 | 2, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt8(stream, 0)
  header.writeUInt32BE(payload.length, 4)
  return Buffer.concat([header, payload])
}

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}

const payloads = fc.array(
  fc.record({ stream: fc.constantFrom<1 | 2>(1, 2), payload: fc.uint8Array({ maxLength: 40 }) }),
)

test('both outputs come whole, wherever the stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(payloads, fc.array(fc.integer({ min: 0, max: 30 })), async (frames, sizes) => {
      const bytes = Buffer.concat(frames.map(({ stream, payload }) => frame(stream, payload)))
      const { stdout, stderr } = demuxStream(cut(bytes, sizes))
      const [out, err] = await Promise.all([buffer(stdout), buffer(stderr)])
      const expected = (wanted: 1 | 2): Buffer =>
        Buffer.concat(frames.filter(({ stream }) => stream === wanted).map(({ payload }) => payload))
      expect(out).toEqual(expected(1))
      expect(err).toEqual(expected(2))
    }),
  )
})

test('much of one output before the other is read blocks nothing', async () => {
  const much = Buffer.alloc(1_000_000, 1)
  const { stdout, stderr } = demuxStream(
    cut(Buffer.concat([frame(1, much), frame(2, Buffer.from('line\n'))]), [70_000]),
  )
  expect(await buffer(stderr)).toEqual(Buffer.from('line\n'))
  expect((await buffer(stdout)).length).toBe(1_000_000)
})

test('an output whose reader has left is passed over, and holds nothing up', async () => {
  const much = frame(1, Buffer.alloc(1_000_000, 1))
  const { stdout, stderr } = demuxStream(cut(Buffer.concat([much, frame(2, Buffer.from('line\n'))]), [70_000]))
  for await (const _ of stdout) break
  expect(await buffer(stderr)).toEqual(Buffer.from('line\n'))
})

test('a stream that breaks off ends both outputs with what came', async () => {
  const { stdout, stderr } = demuxStream(cut(frame(1, Buffer.from('abcdef')).subarray(0, 11), []))
  expect((await buffer(stdout)).toString()).toBe('abc')
  expect((await buffer(stderr)).length).toBe(0)
})
