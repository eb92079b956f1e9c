import { excerpt, SandboxError } from '@agentrl/spec'

/**
 * Reads a tar stream: ustar, with the long names of GNU and of pax, as the tars
 * of GNU, busybox and BSD write them.
 *
 *     header (512 bytes)      payload, filled up to 512 bytes      …      two empty headers
 *     0   name       100          156 type: 0 file, 1 hard link, 2 symbolic link, 5 folder,
 *     100 mode         8              L, K long name, long link name (GNU), x, g attributes (pax)
 *     124 size        12          157 link name   100
 *     148 checksum     8          345 prefix      155
 *
 * Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange
 * Format"; GNU tar manual, "Basic Tar Format". It trusts nothing that is read:
 * the archive comes from inside a sandbox. Numbers are octal text, or base 256
 * with the first bit set (GNU). Sparse files are not read.
 */
export interface TarEntry {
  readonly kind: 'file' | 'folder' | 'symlink' | 'hardlink' | 'other'
  /** As it is written in the archive. */
  readonly path: string
  /** Permission bits. */
  readonly mode: number
  readonly sizeBytes: number
  /** Of links. */
  readonly target: string
  /** The payload; what is not read is skipped. */
  readonly body: AsyncIterable<Uint8Array>
}

const blockBytes = 512
/** Names and attributes longer than this are refused. */
const maxNameBytes = 1024 * 1024

/** The entries of an archive in their order. Throws `sandbox_exec_failed` for what is none, and for one that breaks off. */
export async function* readTar(stream: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const source = createByteSource(stream)
  let names: { path?: string; target?: string } = {}
  for (;;) {
    const header = await source.take(blockBytes)
    if (header.every((byte) => byte === 0)) return
    checkSum(header)
    const sizeBytes = readNumber(header, 124, 12)
    const type = String.fromCharCode(header[156] ?? 0)
    if (type === 'L' || type === 'K' || type === 'x' || type === 'g') {
      if (sizeBytes > maxNameBytes) throw broken(`a name of ${sizeBytes} bytes`)
      const payload = Buffer.from(await source.take(sizeBytes))
      await source.skip(padding(sizeBytes))
      if (type === 'L') names = { ...names, path: cString(payload) }
      if (type === 'K') names = { ...names, target: cString(payload) }
      if (type === 'x') names = { ...names, ...readAttributes(payload) }
      continue
    }
    const prefix = header.toString('latin1', 257, 262) === 'ustar' ? cString(header.subarray(345, 500)) : ''
    const name = cString(header.subarray(0, 100))
    // A payload is for files only, whatever a header says.
    let left = type === '0' || type === '\0' ? sizeBytes : 0
    async function* body(): AsyncGenerator<Uint8Array> {
      while (left > 0) {
        const part = await source.takeSome(left)
        left -= part.length
        yield part
      }
    }
    yield {
      kind: kindOf(type),
      path: names.path ?? (prefix === '' ? name : `${prefix}/${name}`),
      mode: readNumber(header, 100, 8) & 0o777,
      sizeBytes,
      target: names.target ?? cString(header.subarray(157, 257)),
      body: body(),
    }
    await source.skip(left + (type === '0' || type === '\0' ? padding(sizeBytes) : 0))
    names = {}
  }
}

function kindOf(type: string): TarEntry['kind'] {
  if (type === '0' || type === '\0') return 'file'
  if (type === '5') return 'folder'
  if (type === '2') return 'symlink'
  return type === '1' ? 'hardlink' : 'other'
}

function padding(sizeBytes: number): number {
  return (blockBytes - (sizeBytes % blockBytes)) % blockBytes
}

function cString(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end === -1 ? bytes.length : end)
}

function readNumber(header: Buffer, start: number, length: number): number {
  const field = header.subarray(start, start + length)
  if (((field[0] ?? 0) & 0x80) !== 0)
    return Number(BigInt(`0x${field.toString('hex')}`) & ((1n << BigInt(length * 8 - 1)) - 1n))
  const text = cString(field).trim()
  const value = Number.parseInt(text === '' ? '0' : text, 8)
  if (!Number.isSafeInteger(value) || value < 0) throw broken(`the number "${excerpt(text)}"`)
  return value
}

/** Lines of `<length> <key>=<value>\n`, the length of the whole line. */
function readAttributes(payload: Buffer): { path?: string; target?: string } {
  const found: { path?: string; target?: string } = {}
  let start = 0
  while (start < payload.length) {
    const space = payload.indexOf(0x20, start)
    const length = Number(payload.toString('latin1', start, space))
    if (space === -1 || !(length > space - start)) throw broken('an attribute without a length')
    const [key = '', ...value] = payload.toString('utf8', space + 1, start + length - 1).split('=')
    if (key === 'path') found.path = value.join('=')
    if (key === 'linkpath') found.target = value.join('=')
    start += length
  }
  return found
}

function checkSum(header: Buffer): void {
  const expected = readNumber(header, 148, 8)
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0)
  if (sum !== expected) throw broken('a header whose checksum is wrong')
}

function broken(what: string): SandboxError {
  return new SandboxError('sandbox_exec_failed', `What came from the sandbox is no tar archive: found ${what}`)
}

interface ByteSource {
  /** Exactly so many bytes. */
  take(count: number): Promise<Buffer>
  /** At least one byte and at most so many. */
  takeSome(most: number): Promise<Buffer>
  skip(count: number): Promise<void>
}

function createByteSource(stream: AsyncIterable<Uint8Array>): ByteSource {
  const chunks = stream[Symbol.asyncIterator]()
  let pending: Buffer = Buffer.alloc(0)

  async function takeSome(most: number): Promise<Buffer> {
    while (pending.length === 0) {
      const next = await chunks.next()
      if (next.done === true) throw broken('the end of the stream')
      pending = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength)
    }
    const part = pending.subarray(0, most)
    pending = pending.subarray(part.length)
    return part
  }

  async function take(count: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = count; left > 0; ) {
      const part = await takeSome(left)
      parts.push(part)
      left -= part.length
    }
    return Buffer.concat(parts)
  }

  return {
    take,
    takeSome,
    async skip(count) {
      for (let left = count; left > 0; ) left -= (await takeSome(left)).length
    },
  }
}
