import { PassThrough, type Readable } from 'node:stream'
import { writePart } from '../write-part.ts'

/**
 * Parts the one stream of an attached Docker exec into stdout and stderr:
 *
 *     byte 0       1 stdout, 2 stderr (0 stdin, not met here)
 *     bytes 1..3   0
 *     bytes 4..7   size of the payload, big-endian
 *     payload
 *
 * Source: Docker Engine API, "ContainerAttach", stream format. Unlike the
 * demultiplexer of docker-modem it waits for its readers, so a fast writer
 * fills no memory. An output that nobody reads is not waited for: the daemon
 * interleaves as it likes, and what is read first may come second. A stream
 * that breaks off ends both outputs.
 */
export function demuxStream(source: AsyncIterable<Uint8Array>): {
  readonly stdout: Readable
  readonly stderr: Readable
} {
  const stdout = new PassThrough()
  const stderr = new PassThrough()

  async function forward(): Promise<void> {
    let pending = Buffer.alloc(0)
    let target = stdout
    let payloadLeft = 0
    for await (const chunk of source) {
      pending = pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([pending, chunk])
      while (pending.length > 0) {
        if (payloadLeft === 0) {
          if (pending.length < 8) break
          target = pending.readUInt8(0) === 2 ? stderr : stdout
          payloadLeft = pending.readUInt32BE(4)
          pending = pending.subarray(8)
          continue
        }
        const part = pending.subarray(0, payloadLeft)
        payloadLeft -= part.length
        pending = pending.subarray(part.length)
        await writePart(target, part)
      }
    }
  }

  const end = (): void => {
    stdout.end()
    stderr.end()
  }
  forward().then(end, end)
  return { stdout, stderr }
}
