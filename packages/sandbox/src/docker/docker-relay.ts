import { SandboxError, type SandboxId } from '@agentrl/spec'
import type Docker from 'dockerode'
import type { Container } from 'dockerode'
import type { EgressRoute } from '../egress-routes.ts'
import { relayScript, socketsPath } from '../relay-script.ts'
import { demuxStream } from './demux-stream.ts'

export interface DockerRelayOptions {
  readonly id: SandboxId
  readonly image: string
  /** The container whose loopback gets the ports. */
  readonly container: Container
  readonly routes: readonly EgressRoute[]
}

/**
 * The relay of a container without a network: a second container that shares
 * the first one's network and nothing else, so no process in the first can
 * touch it. It runs the Node binary and the libraries of this machine, bound
 * read-only over the same image, so an image needs nothing for it.
 */
export async function startDockerRelay(docker: Docker, options: DockerRelayOptions): Promise<Container> {
  const { id, image, container, routes } = options
  const relay = await docker.createContainer({
    Image: image,
    name: `agentrl-${id}.relay`,
    Entrypoint: [
      ...['/run/agentrl-node', '-e', relayScript],
      ...routes.flatMap(({ name, port }) => [`${socketsPath}/${name}`, `${port}`]),
    ],
    Cmd: [],
    User: 'root',
    Labels: { 'agentrl.driver': 'docker', 'agentrl.sandbox': id },
    HostConfig: {
      AutoRemove: true,
      NetworkMode: `container:${container.id}`,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['ALL'],
      PidsLimit: 64,
      Mounts: [
        { hostPath: process.execPath, path: '/run/agentrl-node' },
        ...routes.map(({ name, socketPath }) => ({ hostPath: socketPath, path: `${socketsPath}/${name}` })),
        ...['/lib', '/lib64', '/usr/lib'].map((path) => ({ hostPath: path, path })),
      ].map(({ hostPath, path }) => ({ Type: 'bind', Source: hostPath, Target: path, ReadOnly: true })),
    },
  })
  const stream = await relay.attach({ stream: true, stdout: true, stderr: true })
  await relay.start()
  const { stdout } = demuxStream(stream as unknown as AsyncIterable<Uint8Array>)
  for await (const chunk of stdout) {
    if (String(chunk).includes('listening')) return relay
  }
  await relay.remove({ force: true }).catch(() => {})
  throw new SandboxError('sandbox_boot_failed', `The relay of sandbox ${id} did not start`)
}
