import { socketsPath } from '../relay-script.ts'
import type { ReadOnlyMount } from '../sandbox-types.ts'
import { controlPath } from './init-script.ts'

/** A part of the host's system, as a sandbox gets it. */
export type SystemPath =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

export interface BubblewrapArguments {
  /** The folder that becomes `/`. */
  readonly root: string
  /** The folder that becomes `/run/agentrl`, read-only. */
  readonly control: string
  readonly system: readonly SystemPath[]
  readonly mounts: readonly ReadOnlyMount[]
  readonly hasNetwork: boolean
  /** Unix sockets of the host by the name that they get in `/run/agentrl-sockets`. */
  readonly sockets: Readonly<Record<string, string>>
}

/** Parts of `/etc` that programs need and that tell nothing of the host; `/etc/ssl/private` is not among them. */
const sharedEtc = [
  'alternatives',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'ssl/certs',
  'ssl/openssl.cnf',
  'ca-certificates',
  'ca-certificates.conf',
  'pki/tls/certs',
  'localtime',
  'mime.types',
  'services',
  'protocols',
]

/**
 * Parts of `/proc` that set the kernel of the host. When this process is root,
 * so is a sandbox's root to the kernel, which lets root write to them without
 * any capability: `core_pattern` names a program that the host runs.
 */
const kernelSettings = ['/proc/sys', '/proc/sysrq-trigger', '/proc/fs', '/proc/acpi', '/proc/pressure']

/**
 * The command line of bubblewrap: a private root that is writable, over it the
 * host's system read-only, new process, user, network, mount, IPC and host-name
 * spaces, no environment, and an end with the process that started it.
 */
export function bubblewrapArguments(parts: BubblewrapArguments): readonly string[] {
  const { root, control, system, mounts, hasNetwork, sockets } = parts
  const network = hasNetwork ? ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'] : ['--unshare-net']
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--uid', '0', '--gid', '0', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...['--die-with-parent', '--new-session', '--clearenv'],
    ...['--bind', root, '/'],
    ...system.flatMap((part) =>
      part.kind === 'link' ? ['--symlink', part.target, part.path] : ['--ro-bind', part.path, part.path],
    ),
    ...sharedEtc.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/run'],
    ...kernelSettings.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--ro-bind', control, controlPath],
    ...Object.entries(sockets).flatMap(([name, path]) => ['--ro-bind', path, `${socketsPath}/${name}`]),
    ...network,
    ...mounts.flatMap(({ hostPath, path }) => ['--ro-bind', hostPath, path]),
    ...['--chdir', '/'],
  ]
}
