import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ResolvedBootOptions } from '../boot-options.ts'

/** The home folder of the only user, root. */
export const home = '/root'

/**
 * Fills the folder that becomes `/` of a bubblewrap sandbox: the folders that
 * every program expects, and an `/etc` of its own that tells nothing of the host.
 */
export async function fillPrivateRoot(root: string, options: ResolvedBootOptions): Promise<void> {
  const folders = ['/etc', '/tmp', '/var/tmp', '/run', '/opt', '/srv', home, options.workdir]
  await Promise.all(folders.map((path) => mkdir(join(root, path), { recursive: true })))
  const files: Record<string, string> = {
    passwd: `root:x:0:0:root:${home}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
    group: 'root:x:0:\nnogroup:x:65534:\n',
    hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
    hostname: 'sandbox\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  }
  await Promise.all([
    ...['/tmp', '/var/tmp'].map((path) => chmod(join(root, path), 0o1777)),
    ...Object.entries(files).map(([name, text]) => writeFile(join(root, 'etc', name), text)),
  ])
}
