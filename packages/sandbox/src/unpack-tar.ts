import { createWriteStream } from 'node:fs'
import { chmod, copyFile, lstat, mkdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import { readTar, type TarEntry } from './read-tar.ts'

/**
 * Unpacks an archive that comes from inside a sandbox into a folder of the
 * host. Nothing is written outside of the folder, whatever the archive says:
 * paths that are absolute or climb are refused, no link is ever followed (they
 * are made last, and one that is in the way is removed), owners and special
 * bits are dropped, and devices, pipes and the like are refused.
 *
 * Throws `sandbox_path_outside`, `sandbox_invalid_option` and `sandbox_exec_failed`.
 */
export async function unpackTar(stream: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  const links: { path: string; target: string }[] = []
  const folderModes: { path: string; mode: number }[] = []
  await mkdir(folder, { recursive: true })
  for await (const entry of readTar(stream)) {
    const segments = segmentsOf(entry.path)
    const path = join(folder, ...segments)
    switch (entry.kind) {
      case 'folder':
        await makeFolder(folder, segments)
        // A folder that can't be written gets its mode when everything is in it.
        folderModes.unshift({ path, mode: entry.mode | 0o700 })
        break
      case 'file':
        await writeEntry(folder, segments, entry)
        break
      case 'symlink':
        await makeRoom(folder, segments)
        links.push({ path, target: entry.target })
        break
      case 'hardlink':
        await makeRoom(folder, segments)
        await copyInside(folder, segmentsOf(entry.target), path)
        break
      default:
        throw new SandboxError(
          'sandbox_invalid_option',
          `Only files, folders and links are downloaded; found "${excerpt(entry.path)}"`,
        )
    }
  }
  for (const { path, mode } of folderModes) await chmod(path, mode)
  for (const { path, target } of links) await symlink(target, path)
}

function segmentsOf(path: string): readonly string[] {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (!path.startsWith('/') && !segments.includes('..') && !path.includes('\0')) return segments
  throw new SandboxError('sandbox_path_outside', `A file of the archive leads out of it: "${excerpt(path)}"`)
}

async function writeEntry(folder: string, segments: readonly string[], entry: TarEntry): Promise<void> {
  await makeRoom(folder, segments)
  const path = join(folder, ...segments)
  await pipeline(entry.body, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  await chmod(path, entry.mode)
}

/** Makes the folders above, and removes what stands at the path itself. */
async function makeRoom(folder: string, segments: readonly string[]): Promise<void> {
  if (segments.length === 0) throw new SandboxError('sandbox_path_outside', 'A file of the archive has no name')
  await makeFolder(folder, segments.slice(0, -1))
  await rm(join(folder, ...segments), { recursive: true, force: true })
}

/** Makes real folders of every part of the path; what is none, a link above all, makes way. */
async function makeFolder(folder: string, segments: readonly string[]): Promise<void> {
  for (let depth = 1; depth <= segments.length; depth += 1) {
    const path = join(folder, ...segments.slice(0, depth))
    const found = await lstat(path).catch(() => undefined)
    if (found?.isDirectory() === true) continue
    if (found !== undefined) await rm(path)
    await mkdir(path, { mode: 0o755 })
  }
}

/** A hard link becomes a copy of a file that was unpacked before it. */
async function copyInside(folder: string, segments: readonly string[], path: string): Promise<void> {
  const source = join(folder, ...segments)
  for (let above = source; above !== folder && above.length > folder.length; above = dirname(above)) {
    const found = await lstat(above).catch(() => undefined)
    const isExpected = above === source ? found?.isFile() : found?.isDirectory()
    if (isExpected !== true) {
      throw new SandboxError(
        'sandbox_path_outside',
        `A hard link of the archive leads to no file in it: "${excerpt(segments.join('/'))}"`,
      )
    }
  }
  await copyFile(source, path)
}
