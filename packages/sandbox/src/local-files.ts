import { createWriteStream } from 'node:fs'
import { chmod, cp, lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import { invalidOption } from './invalid-option.ts'
import type { FileBackend } from './sandbox-backend.ts'

/**
 * File calls of the local driver: a sandbox path lies under `root` on the host,
 * and a link that leads out of `root` is refused. This keeps our own calls
 * inside; it can't keep commands inside, which see the whole host. `checkUser`
 * refuses every user but the one that commands run as.
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

  async function statInside(
    path: string,
  ): Promise<{ real: string; isFile: boolean; isFolder: boolean; sizeBytes: number }> {
    const real = await resolveInside(path)
    const found = await stat(real).catch(() => undefined)
    if (found === undefined) throw new SandboxError('sandbox_file_not_found', `There is no file ${path} in the sandbox`)
    return { real, isFile: found.isFile(), isFolder: found.isDirectory(), sizeBytes: found.size }
  }

  /** Refuses what stands at a path and is no file: writing to a pipe would wait for its reader. */
  async function requireRoom(real: string, path: string): Promise<void> {
    const found = await stat(real).catch(() => undefined)
    if (found !== undefined && !found.isFile())
      throw invalidOption(`${path} is no file but a folder, a pipe or the like`)
  }

  return {
    async writeFile(path, content, { mode, user, signal }) {
      checkUser(user)
      const real = await resolveInside(path)
      await requireRoom(real, path)
      await mkdir(dirname(real), { recursive: true })
      await pipeline(content, createWriteStream(real), { signal })
      await chmod(real, mode)
    },
    async readFile(path, { maxBytes, user, signal }) {
      checkUser(user)
      const found = await statInside(path)
      if (!found.isFile) throw invalidOption(`${path} is no file but a folder, a pipe or the like`)
      if (found.sizeBytes > maxBytes) throw invalidOption(`${path} has more than ${maxBytes} bytes`)
      return readFile(found.real, { signal })
    },
    async exists(path, { user }) {
      checkUser(user)
      return isThere(await resolveInside(path))
    },
    async upload(hostPath, path, { user }) {
      checkUser(user)
      const real = await resolveInside(path)
      await mkdir(dirname(real), { recursive: true })
      await cp(hostPath, real, { recursive: true, force: true, verbatimSymlinks: true })
    },
    async download(path, hostPath, { user }) {
      checkUser(user)
      const found = await statInside(path)
      if (!found.isFile && !found.isFolder) throw invalidOption(`${path} is no file and no folder`)
      await mkdir(dirname(hostPath), { recursive: true })
      await cp(found.real, hostPath, { recursive: true, force: true, verbatimSymlinks: true })
    },
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}
