import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unpackTar } from './unpack-tar.ts'

let folder: string
let source: string
let target: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentrl-tar-'))
  source = join(folder, 'source')
  target = join(folder, 'target')
  mkdirSync(source)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const pack = (...flags: string[]): Buffer =>
  execFileSync('tar', ['-C', source, ...flags, '-cf', '-', '.'], { maxBuffer: 2 ** 26 })

/** One entry of a made-up archive. */
function entry(fields: { path: string; type?: string; target?: string; body?: string; mode?: string }): Buffer {
  const { path, type = '0', target: link = '', body = '', mode = '0000644' } = fields
  const header = Buffer.alloc(512)
  header.write(path, 0, 100)
  header.write(mode, 100)
  header.write(Buffer.byteLength(body).toString(8).padStart(11, '0'), 124)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(link, 157, 100)
  header.write('ustar\u000000', 257)
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\u0000 `,
    148,
  )
  const payload = Buffer.alloc(Math.ceil(Buffer.byteLength(body) / 512) * 512)
  payload.write(body)
  return Buffer.concat([header, payload])
}

const archive = (...entries: Buffer[]): AsyncIterable<Uint8Array> =>
  inParts(Buffer.concat([...entries, Buffer.alloc(1024)]), 700)

describe('what system tars write', () => {
  const longName = `${'a-long-folder-name/'.repeat(12)}${'f'.repeat(150)}`

  test.each([['--format=gnu'], ['--format=ustar'], ['--format=pax']])('%s comes back whole', async (format) => {
    mkdirSync(join(source, 'sub/deep'), { recursive: true })
    writeFileSync(join(source, 'sub/deep/data'), Buffer.alloc(100_001, 5))
    writeFileSync(join(source, 'empty'), '')
    writeFileSync(join(source, 'ü – 😀'), 'name')
    writeFileSync(join(source, 'run.sh'), 'x', { mode: 0o755 })
    symlinkSync('sub/deep/data', join(source, 'link'))
    execFileSync('ln', [join(source, 'run.sh'), join(source, 'second')])
    await unpackTar(inParts(pack(format), 1_000), target)
    expect(readFileSync(join(target, 'sub/deep/data')).equals(Buffer.alloc(100_001, 5))).toBe(true)
    expect(readdirSync(target).sort()).toEqual(readdirSync(source).sort())
    expect(readlinkSync(join(target, 'link'))).toBe('sub/deep/data')
    expect([statSync(join(target, 'run.sh')).mode & 0o777, readFileSync(join(target, 'second'), 'utf8')]).toEqual([
      0o755,
      'x',
    ])
  })

  test.each([['--format=gnu'], ['--format=pax']])('names beyond 255 bytes come back with %s', async (format) => {
    mkdirSync(join(source, longName, '..'), { recursive: true })
    writeFileSync(join(source, longName), 'deep')
    await unpackTar(inParts(pack(format), 333), target)
    expect(readFileSync(join(target, longName), 'utf8')).toBe('deep')
  })

  test('the archive may be cut anywhere', async () => {
    writeFileSync(join(source, 'data'), Buffer.from(Array.from({ length: 3_000 }, (_, index) => index % 251)))
    const bytes = pack()
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5_000 }), async (size) => {
        rmSync(target, { recursive: true, force: true })
        await unpackTar(inParts(bytes, size), target)
        expect(readFileSync(join(target, 'data')).equals(readFileSync(join(source, 'data')))).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})

describe('what a hostile sandbox writes', () => {
  const outside = { code: 'sandbox_path_outside' }

  test.each(['../x', '/etc/x', 'a/../../x', '..', 'a/..'])('the path %j is refused', async (path) => {
    await expect(unpackTar(archive(entry({ path, body: 'x' })), target)).rejects.toMatchObject(outside)
    expect(readdirSync(folder).sort()).toEqual(['source', 'target'])
  })

  test('a file below a link is written beside the link and never through it', async () => {
    writeFileSync(join(source, 'secret'), 'of the host')
    const link = entry({ path: 'a', type: '2', target: source })
    await unpackTar(archive(link, entry({ path: 'a/secret', body: 'changed' })), target).catch(() => {})
    expect(readFileSync(join(source, 'secret'), 'utf8')).toBe('of the host')
  })

  test('a link that an earlier download left is not followed', async () => {
    writeFileSync(join(source, 'secret'), 'of the host')
    await unpackTar(archive(entry({ path: 'a', type: '2', target: source })), target)
    await unpackTar(archive(entry({ path: 'a/secret', body: 'mine' })), target)
    await unpackTar(archive(entry({ path: 'b', type: '2', target: join(source, 'secret') })), target)
    await unpackTar(archive(entry({ path: 'b', body: 'mine' })), target)
    expect(readFileSync(join(source, 'secret'), 'utf8')).toBe('of the host')
    expect(readFileSync(join(target, 'a/secret'), 'utf8')).toBe('mine')
  })

  test('a hard link to a file of the host is refused', async () => {
    writeFileSync(join(source, 'secret'), 'of the host')
    const hard = (to: string): Buffer => entry({ path: 'copy', type: '1', target: to })
    await expect(unpackTar(archive(hard(join(source, 'secret'))), target)).rejects.toMatchObject(outside)
    await expect(unpackTar(archive(hard('../source/secret')), target)).rejects.toMatchObject(outside)
    symlinkSync(source, join(target, 'a'))
    await expect(unpackTar(archive(hard('a/secret')), target)).rejects.toMatchObject(outside)
    expect(existsSync(join(target, 'copy'))).toBe(false)
  })

  test.each([['3'], ['4'], ['6'], ['7']])('an entry of type %s, no file or link, is refused', async (type) => {
    await expect(unpackTar(archive(entry({ path: 'x', type })), target)).rejects.toMatchObject({
      code: 'sandbox_invalid_option',
    })
  })

  test('special bits of a mode are dropped', async () => {
    await unpackTar(archive(entry({ path: 'x', body: 'x', mode: '0006755' })), target)
    expect(statSync(join(target, 'x')).mode & 0o7777).toBe(0o755)
  })

  test.each([
    ['noise', Buffer.alloc(512, 7)],
    ['nothing', Buffer.alloc(0)],
    ['half a file', entry({ path: 'x', body: 'x'.repeat(600) }).subarray(0, 700)],
  ])('%s is no archive', async (_, bytes) => {
    await expect(unpackTar(inParts(bytes, 100), target)).rejects.toMatchObject({ code: 'sandbox_exec_failed' })
  })
})
