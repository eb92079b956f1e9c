import { SandboxError } from '@agentrl/spec'
import Docker from 'dockerode'
import { invalidOption } from '../invalid-option.ts'

/** Where a Docker daemon is. */
export interface DockerConnection {
  /**
   * `unix:///var/run/docker.sock` (default), `tcp://host:2376`, `ssh://user@host`:
   * the forms of DOCKER_HOST.
   */
  readonly host?: string
  /** For ssh: the socket of an agent that holds the key, usually the value of SSH_AUTH_SOCK. */
  readonly sshAgent?: string
  /** For ssh, required: the fingerprint of the daemon's host key, `SHA256:…` as `ssh-keygen -l` prints it. */
  readonly sshHostKey?: string
  /** For tcp with TLS: PEM texts. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string }
}

/** What dockerode would otherwise take from DOCKER_HOST and the like, also beside a socket that it is given. */
const nothingOfTheEnvironment = {
  host: undefined,
  port: undefined,
  protocol: 'http',
  pathPrefix: '/',
  username: undefined,
  timeout: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
} as const

/**
 * A client of a daemon, which is not asked anything yet. It takes nothing from
 * the environment. Throws `sandbox_invalid_option`.
 */
export function connectDocker(connection: DockerConnection): Docker {
  const { host = 'unix:///var/run/docker.sock', sshAgent, sshHostKey, tls } = connection
  const url = URL.canParse(host) ? new URL(host) : undefined
  switch (url?.protocol) {
    case 'unix:':
      return createDocker({ socketPath: url.pathname })
    case 'tcp:':
      return createDocker({
        host: url.hostname,
        port: url.port === '' ? (tls === undefined ? 2375 : 2376) : Number(url.port),
        protocol: tls === undefined ? 'http' : 'https',
        ...tls,
      })
    case 'ssh:': {
      if (sshHostKey === undefined) throw invalidOption('ssh needs sshHostKey: without it, anybody could answer')
      const hostKey = hexOfHostKey(sshHostKey)
      const sshOptions = {
        ...(sshAgent === undefined ? {} : { agent: sshAgent }),
        hostHash: 'sha256',
        hostVerifier: (hash: string) => hash === hostKey,
      }
      return createDocker(
        {
          protocol: 'ssh',
          host: url.hostname,
          port: url.port === '' ? 22 : Number(url.port),
          username: decodeURIComponent(url.username),
        },
        sshOptions,
      )
    }
    default:
      throw invalidOption(`host starts with unix://, tcp:// or ssh://; found "${host}"`)
  }
}

function createDocker(options: Docker.DockerOptions, sshOptions: Readonly<Record<string, unknown>> = {}): Docker {
  try {
    const docker = new Docker({ ...nothingOfTheEnvironment, ...options } as Docker.DockerOptions)
    // Those of the environment would go before what the constructor is given.
    Object.assign(docker.modem, { sshOptions })
    return docker
  } catch (cause) {
    // It reads the certificates of DOCKER_CERT_PATH, whatever it is told.
    throw invalidOption(`The client of the Docker daemon could not be made: ${String(cause)}`)
  }
}

/** `SHA256:<base64>`, as ssh-keygen prints it, in the form in which the connection compares. */
function hexOfHostKey(fingerprint: string): string {
  const [, encoded] = /^SHA256:([A-Za-z0-9+/]{43})=?$/.exec(fingerprint) ?? []
  if (encoded === undefined) throw invalidOption(`sshHostKey is "SHA256:…" as ssh-keygen -l prints it`)
  return Buffer.from(encoded, 'base64').toString('hex')
}

/** Whether a daemon shares this machine's files and sockets. */
export function isLocalDaemon({ host }: DockerConnection): boolean {
  return host === undefined || host.startsWith('unix:')
}

/** The status of an answer of the daemon; undefined: it did not answer. */
export function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  return typeof status === 'number' ? status : undefined
}

/** What the daemon said, or what became of the connection. */
export function reasonOf(error: unknown): string {
  const { json, message } = error as { json?: { message?: unknown } | null; message?: unknown }
  return String(json?.message ?? message ?? error).trim()
}

/** An error of a call for a container that was there: it is gone, or the daemon could not be reached. */
export function callError(error: unknown, what: string): SandboxError {
  if (error instanceof SandboxError) return error
  const status = statusOf(error)
  const message = `Could not ${what}: ${reasonOf(error)}`
  if (status === 404 || status === 409) return new SandboxError('sandbox_lost', message, { cause: error })
  // Without a status the connection failed; 5xx is the daemon's own trouble. Either may pass.
  const isRetryable = status === undefined || status >= 500
  return new SandboxError('sandbox_exec_failed', message, { cause: error, isRetryable })
}
