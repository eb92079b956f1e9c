import { posix } from 'node:path'
import { excerpt, SandboxError } from '@agentrl/spec'
import type { Sandbox } from './sandbox.ts'

/**
 * The absolute, normal form of a path inside a sandbox; a path that is not
 * absolute is taken from `base`. Throws `sandbox_path_outside` for a path that
 * climbs above the root, which POSIX would silently clamp, and for one with a
 * NUL, which every system call would cut.
 */
export function normalizeSandboxPath(path: string, base: string): string {
  if (path.includes('\0')) {
    throw new SandboxError('sandbox_path_outside', `A path has no NUL; found ${JSON.stringify(excerpt(path))}`)
  }
  const segments: string[] = []
  for (const segment of posix.isAbsolute(path) ? path.split('/') : `${base}/${path}`.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) {
      throw new SandboxError('sandbox_path_outside', `A path stays below the sandbox's root; found "${excerpt(path)}"`)
    }
  }
  return `/${segments.join('/')}`
}

/**
 * The text with every absolute path below one of `folders` changed to the path
 * that commands use. It changes nothing in a sandbox that has a root of its
 * own. For the local driver it makes a script work that was written for `/app`,
 * `/tests` and `/logs`:
 *
 *     rewritePaths('bash /tests/test.sh > /logs/out', sandbox, ['/tests', '/logs'])
 *
 * A path counts where no path character stands before it: `/srv/app` and
 * `/application` are left alone.
 */
export function rewritePaths(text: string, sandbox: Pick<Sandbox, 'path'>, folders: readonly string[]): string {
  const alternatives = folders.map((folder) => folder.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const pattern = new RegExp(`(?<![A-Za-z0-9._~/}-])(?:${alternatives.join('|')})(?![A-Za-z0-9._-])`, 'g')
  return folders.length === 0 ? text : text.replace(pattern, (folder) => sandbox.path(folder))
}
