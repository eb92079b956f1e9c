import { readdir } from 'node:fs/promises'
import { excerpt, SandboxError } from '@agentrl/spec'
import { connectDocker, type DockerConnection, reasonOf } from './connect-docker.ts'
import { readProgress } from './read-progress.ts'

export interface BuildDockerImageOptions extends DockerConnection {
  /** The folder that is sent to the daemon; its `.dockerignore` counts. */
  readonly contextFolder: string
  /** Name and tag of the image. */
  readonly tag: string
  /** Inside the context. Default `Dockerfile`. */
  readonly dockerfile?: string
  readonly buildArgs?: Readonly<Record<string, string>>
  /** The network of RUN steps: `none`, `host`, or that of the daemon (default). */
  readonly network?: 'none' | 'host' | 'default'
  /** Aborting ends the build and rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Hears each piece of the daemon's output. */
  readonly onLog?: (text: string) => void
}

/** How much of the end of the log an error shows. */
const logTailLength = 2_000

/**
 * Builds an image for a task that comes as a Dockerfile. Throws
 * `sandbox_boot_failed` with the end of the log when a step fails.
 */
export async function buildDockerImage(options: BuildDockerImageOptions): Promise<void> {
  const { contextFolder, tag, dockerfile = 'Dockerfile', buildArgs = {}, network = 'default', signal, onLog } = options
  signal?.throwIfAborted()
  const docker = connectDocker(options)
  let tail = ''
  try {
    const context = { context: contextFolder, src: await readdir(contextFolder) }
    const progress = await docker.buildImage(context, {
      t: tag,
      dockerfile,
      buildargs: { ...buildArgs },
      networkmode: network,
      forcerm: true,
      ...(signal === undefined ? {} : { abortSignal: signal }),
    })
    await readProgress(progress, (text) => {
      tail = (tail + text).slice(-logTailLength)
      onLog?.(text)
    })
  } catch (cause) {
    signal?.throwIfAborted()
    const message = `The image "${tag}" could not be built: ${reasonOf(cause)}\n${excerpt(tail, logTailLength)}`
    throw new SandboxError('sandbox_boot_failed', message, { cause })
  }
}
