import { createHash } from 'node:crypto'
import { chmod, mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from './__fixtures__/write-task.ts'
import { digestDirectory } from './digest-directory.ts'

async function exampleFolder(): Promise<string> {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'b'))
  await writeFile(join(folder, 'b', 'é.txt'), 'content')
  await writeFile(join(folder, 'b.txt'), '')
  await symlink('b.txt', join(folder, 'link'))
  return folder
}

test('the digest is that of kinds, lengths, paths and contents in the order of the paths', async () => {
  const text = 'path 5\nb.txtfile 0\npath 8\nb/é.txtfile 7\ncontentpath 4\nlinklink 5\nb.txt'
  expect(await digestDirectory(await exampleFolder())).toBe(createHash('sha256').update(text).digest('hex'))
})

test('modes, times and .git do not count', async () => {
  const folder = await exampleFolder()
  const before = await digestDirectory(folder)
  await chmod(join(folder, 'b.txt'), 0o755)
  await utimes(join(folder, 'b.txt'), 0, 0)
  await mkdir(join(folder, '.git'))
  await writeFile(join(folder, '.git', 'HEAD'), 'x')
  expect(await digestDirectory(folder)).toBe(before)
})

test('a moved byte and a renamed file count', async () => {
  const folder = await exampleFolder()
  const before = await digestDirectory(folder)
  await rename(join(folder, 'b.txt'), join(folder, 'c.txt'))
  const renamed = await digestDirectory(folder)
  await rename(join(folder, 'c.txt'), join(folder, 'b.txt'))
  await writeFile(join(folder, 'b.txt'), 'c')
  await writeFile(join(folder, 'b', 'é.txt'), 'ontent')
  expect(new Set([before, renamed, await digestDirectory(folder)]).size).toBe(3)
})
