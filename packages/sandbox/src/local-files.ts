import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { chmod, cp, type FileHandle, lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import { notAFile, overCap } from './command-files.ts'
import { invalidOption } from './invalid-option.ts'
import type { FileBackend, FileCall } from './sandbox-backend.ts'

/**
 * File calls of the local driver: a sandbox path lies under `root` on the host,
 * and a link that leads out of `root` is refused. A file is written beside its
 * place and moved there, so that what a command puts at its place meanwhile, a
 * link or a second name of a file of the host, is replaced and not written to.
 * This keeps our own calls inside; it can't keep commands inside, which see the
 * whole host, nor a command that exchanges folders while a call walks through
 * them. `checkUser` refuses every user but the one that commands run as.
 */
export function localFiles(root: string, checkUser: (user: string | undefined) => void): FileBackend {
  /** The real path on the host; what does not exist yet is taken as it is written. */
  async function resolveInside(path: string): Promise<string> {
    const realRoot = await realpath(root)
    const wanted = join(realRoot, path)
    const missing: string[] = []
    let existing = wanted
    while (!(await isThere(existing))) {
      missing.unshift(existing.slice(dirname(existing).length + 1))
      existing = dirname(existing)
    }
    const real = await realpath(existing).catch(() => undefined)
    if (real !== undefined && (real === realRoot || real.startsWith(realRoot + sep))) return join(real, ...missing)
    throw new SandboxError('sandbox_path_outside', `A link leads out of the sandbox: "${excerpt(path)}"`)
  }

  /** What is at a path, which itself is no link any more. */
  async function statInside(path: string): Promise<{ real: string; found: Stats }> {
    const real = await resolveInside(path)
    const found = await lstat(real).catch(() => undefined)
    if (found === undefined) throw new SandboxError('sandbox_file_not_found', `There is no file ${path} in the sandbox`)
    return { real, found }
  }

  /** Opens a file: neither what became a link since it was looked at, nor a pipe that waits for its writer. */
  async function openInside(path: string): Promise<FileHandle> {
    const { real, found } = await statInside(path)
    if (!found.isFile()) throw notAFile(path)
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if ((await handle.stat()).isFile()) return handle
    await handle.close()
    throw notAFile(path)
  }

  async function* readStream(path: string, { user, signal }: FileCall): AsyncGenerator<Uint8Array> {
    checkUser(user)
    const handle = await openInside(path)
    yield* handle.createReadStream({ signal })
  }

  return {
    async writeFile(path, content, { mode, user, signal }) {
      checkUser(user)
      const real = await resolveInside(path)
      const found = await lstat(real).catch(() => undefined)
      if (found !== undefined && !found.isFile()) throw notAFile(path)
      await mkdir(dirname(real), { recursive: true })
      const written = join(dirname(real), `.agentrl-${randomBytes(6).toString('hex')}`)
      try {
        const handle = await open(written, 'wx', 0o600)
        await pipeline(content, handle.createWriteStream(), { signal })
        await chmod(written, mode)
        await rename(written, real)
      } catch (error) {
        await rm(written, { force: true })
        throw error
      }
    },
    async readFile(path, call) {
      const parts: Uint8Array[] = []
      let sizeBytes = 0
      for await (const part of readStream(path, call)) {
        sizeBytes += part.length
        if (sizeBytes > call.maxBytes) throw overCap(path, call.maxBytes)
        parts.push(part)
      }
      return new Uint8Array(Buffer.concat(parts))
    },
    readStream,
    async exists(path, { user }) {
      checkUser(user)
      return isThere(await resolveInside(path))
    },
    async upload(hostPath, path, { user, signal }) {
      checkUser(user)
      const real = await resolveInside(path)
      await mkdir(dirname(real), { recursive: true })
      await copy(hostPath, real, () => signal.throwIfAborted())
    },
    async download(path, hostPath, { user, signal, maxBytes }) {
      checkUser(user)
      const { real, found } = await statInside(path)
      if (!found.isFile() && !found.isDirectory()) throw invalidOption(`${path} is no file and no folder`)
      await mkdir(dirname(hostPath), { recursive: true })
      let sizeBytes = 0
      await copy(real, hostPath, (entry, source) => {
        signal.throwIfAborted()
        if (entry.isFile()) sizeBytes += entry.size
        if (sizeBytes > maxBytes) throw overCap(path, maxBytes)
        if (entry.isFile() || entry.isDirectory() || entry.isSymbolicLink()) return
        throw invalidOption(`Only files, folders and links are downloaded; found "${excerpt(source)}"`)
      })
    },
  }
}

/** Copies a file or what a folder holds, links as links; `check` looks at each entry before it is copied. */
async function copy(from: string, to: string, check: (entry: Stats, source: string) => void): Promise<void> {
  const filter = async (source: string): Promise<boolean> => {
    check(await lstat(source), source)
    return true
  }
  await cp(from, to, { recursive: true, force: true, verbatimSymlinks: true, filter })
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}
