/** An image that holds busybox and nothing else, as a file that a container runtime imports. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Lays out a root file system with busybox in `root`. */
export function makeBusyboxRoot(root) {
  for (const name of ['bin', 'etc', 'root', 'tmp']) mkdirSync(join(root, name), { recursive: true })
  chmodSync(join(root, 'tmp'), 0o1777)
  copyFileSync('/bin/busybox', join(root, 'bin/busybox'))
  for (const applet of execFileSync('/bin/busybox', ['--list']).toString().trim().split('\n')) {
    if (applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet))
  }
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
}

/**
 * Writes an archive with one layer, under several names, each with a command of
 * its own, and gives its path:
 *
 *     manifest.json   [{ Config, RepoTags, Layers }]
 *     <name>.json     { architecture, os, config, rootfs }
 *     layer.tar
 */
export function writeImageArchive(folder, commands) {
  const image = join(folder, 'image')
  mkdirSync(image)
  makeBusyboxRoot(join(folder, 'base'))
  execFileSync('tar', ['-C', join(folder, 'base'), '-cf', join(image, 'layer.tar'), '.'])
  const diffId = createHash('sha256')
    .update(readFileSync(join(image, 'layer.tar')))
    .digest('hex')
  const manifest = Object.entries(commands).map(([tag, command], index) => {
    const config = {
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: { Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'], Cmd: command },
      rootfs: { type: 'layers', diff_ids: [`sha256:${diffId}`] },
    }
    writeFileSync(join(image, `${index}.json`), JSON.stringify(config))
    return { Config: `${index}.json`, RepoTags: [tag], Layers: ['layer.tar'] }
  })
  writeFileSync(join(image, 'manifest.json'), JSON.stringify(manifest))
  const archive = join(folder, 'image.tar')
  execFileSync('tar', ['-C', image, '-cf', archive, '.'])
  return archive
}
