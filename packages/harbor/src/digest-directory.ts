import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Files below `directory` as paths with `/`, in the order of their UTF-8 bytes; symbolic links count as files. */
async function listFiles(directory: string): Promise<string[]> {
  const found: string[] = []
  const pending = ['']
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await readdir(join(directory, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) {
        if (entry.name !== '.git') pending.push(path)
      } else found.push(path)
    }
  }
  return found.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
}

function addFramed(hash: Hash, label: string, sizeBytes: number): void {
  hash.update(`${label} ${sizeBytes}\n`)
}

/**
 * SHA-256 of a directory, in hexadecimal: for each file, path and content,
 * each after its kind and its length in bytes, so that no two trees collide by
 * concatenation. Modes, times and `.git` don't count; a symbolic link counts
 * by its target. Linear in the bytes of the tree, in constant memory.
 */
export async function digestDirectory(directory: string): Promise<string> {
  const hash = createHash('sha256')
  for (const path of await listFiles(directory)) {
    const absolutePath = join(directory, path)
    addFramed(hash, 'path', Buffer.byteLength(path))
    hash.update(path)
    const stats = await lstat(absolutePath)
    if (stats.isSymbolicLink()) {
      const target = await readlink(absolutePath)
      addFramed(hash, 'link', Buffer.byteLength(target))
      hash.update(target)
    } else if (stats.isFile()) {
      addFramed(hash, 'file', stats.size)
      for await (const chunk of createReadStream(absolutePath)) hash.update(chunk as Buffer)
    } else addFramed(hash, 'special', 0)
  }
  return hash.digest('hex')
}
