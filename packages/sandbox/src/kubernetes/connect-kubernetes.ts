import { PassThrough } from 'node:stream'
import { SandboxError } from '@agentrl/spec'
import {
  CoreV1Api,
  Exec,
  KubeConfig,
  NetworkingV1Api,
  PatchStrategy,
  setHeaderOptions,
  type V1NetworkPolicy,
  type V1Pod,
} from '@kubernetes/client-node'
import { invalidOption } from '../invalid-option.ts'
import type { ExecFrame } from './exec-frames.ts'
import { statusOf } from './kubernetes-errors.ts'
import { containerName, driverSelector } from './pod-objects.ts'

/** Which cluster, and as whom. Nothing is taken from `KUBECONFIG` or the home folder. */
export type KubernetesCluster =
  /** A file in the form of `~/.kube/config`; `context` defaults to its current one. */
  | { readonly kind: 'kubeconfig'; readonly path: string; readonly context?: string }
  /** The cluster that this process runs in, as its service account. */
  | { readonly kind: 'in-cluster' }

/** The calls of the API server that sandboxes need, in one namespace. What does not exist reads as undefined. */
export interface KubernetesCalls {
  createPod(pod: V1Pod): Promise<void>
  readPod(name: string): Promise<V1Pod | undefined>
  annotatePod(name: string, annotations: Readonly<Record<string, string>>): Promise<void>
  /** Asks for the end of a pod: SIGTERM, a second, SIGKILL. It exists until its node says that it has ended. */
  deletePod(name: string): Promise<void>
  listPods(): Promise<readonly V1Pod[]>
  createPolicy(policy: V1NetworkPolicy): Promise<void>
  deletePolicy(name: string): Promise<void>
  listPolicies(): Promise<readonly V1NetworkPolicy[]>
  /** The last warning about a pod; empty when there is none, or none may be read. */
  lastWarning(name: string): Promise<string>
  /** Runs a command in the pod's container. */
  exec(name: string, argv: readonly string[]): Promise<ExecConnection>
}

/** One command's connection. */
export interface ExecConnection {
  readonly frames: AsyncIterable<ExecFrame>
  /** Sends input, and waits until it is on its way; false: the connection is closed. */
  send(bytes: Uint8Array): Promise<boolean>
  endInput(): void
  close(): void
  /** What is open from here on does not keep this process alive. */
  unref(): void
}

/** A call that takes longer has lost its connection; the client itself waits for ever. */
const maxCallMs = 30_000
/** So often a connection without traffic says something: what is between here and the cluster cuts silent ones. */
const pingMs = 30_000
/** Messages that wait for a slow reader before the sender is told to wait. */
const maxWaitingFrames = 64
/** The most input that goes into one message. */
const maxMessageBytes = 64 * 1024

/** A client of a cluster, which is not asked anything yet. Throws `sandbox_invalid_option`. */
export function connectKubernetes(cluster: KubernetesCluster, namespace: string): KubernetesCalls {
  const config = loadConfig(cluster)
  const core = config.makeApiClient(CoreV1Api)
  const networking = config.makeApiClient(NetworkingV1Api)
  const ours = { namespace, labelSelector: driverSelector }
  const gracePeriodSeconds = 1
  return {
    createPod: async (body) => void (await within(core.createNamespacedPod({ namespace, body }))),
    readPod: (name) => orUndefined(within(core.readNamespacedPod({ namespace, name }))),
    async annotatePod(name, annotations) {
      const body = { metadata: { annotations } }
      const asMerge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
      await within(core.patchNamespacedPod({ namespace, name, body }, asMerge))
    },
    deletePod: async (name) =>
      void (await orUndefined(within(core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds })))),
    listPods: async () => (await within(core.listNamespacedPod(ours))).items,
    createPolicy: async (body) => void (await within(networking.createNamespacedNetworkPolicy({ namespace, body }))),
    deletePolicy: async (name) =>
      void (await orUndefined(within(networking.deleteNamespacedNetworkPolicy({ namespace, name })))),
    listPolicies: async () => (await within(networking.listNamespacedNetworkPolicy(ours))).items,
    async lastWarning(name) {
      const fieldSelector = `involvedObject.name=${name},type=Warning`
      const found = await within(core.listNamespacedEvent({ namespace, fieldSelector })).catch(() => undefined)
      const { reason = '', message = '' } = found?.items.at(-1) ?? {}
      return [reason, message].filter((part) => part !== '').join(': ')
    },
    exec: (name, argv) => openExec(config, `/api/v1/namespaces/${namespace}/pods/${name}/exec`, argv),
  }
}

function loadConfig(cluster: KubernetesCluster): KubeConfig {
  const config = new KubeConfig()
  try {
    if (cluster.kind === 'in-cluster') config.loadFromCluster()
    else config.loadFromFile(cluster.path)
  } catch (cause) {
    throw invalidOption(`The configuration of the cluster could not be read: ${String(cause)}`)
  }
  if (cluster.kind === 'kubeconfig' && cluster.context !== undefined) config.setCurrentContext(cluster.context)
  if (config.getCurrentCluster() === null) {
    throw invalidOption(`The configuration has no cluster for the context "${config.getCurrentContext()}"`)
  }
  return config
}

async function within<T>(call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${maxCallMs} ms`)), maxCallMs)
  })
  try {
    return await Promise.race([call, late])
  } finally {
    clearTimeout(timer)
    call.catch(() => {})
  }
}

async function orUndefined<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (statusOf(error) === 404) return undefined
    throw error
  }
}

async function openExec(config: KubeConfig, path: string, argv: readonly string[]): Promise<ExecConnection> {
  const frames = new PassThrough({ objectMode: true, highWaterMark: maxWaitingFrames })
  const { handler } = new Exec(config)
  // It ends the standard streams of this process when the other side closes a channel.
  Object.assign(handler, {
    streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
  })
  const query = new URLSearchParams({ container: containerName, stdin: 'true', stdout: 'true', stderr: 'true' })
  for (const word of argv) query.append('command', word)
  const connecting = handler.connect(`${path}?${query}`, null, (channel, payload) => {
    const frame: ExecFrame = { channel, payload }
    if (!frames.writableEnded && !frames.write(frame)) connecting.then((socket) => socket.pause())
    return true
  })
  const socket = await within(connecting).catch((error: unknown) => {
    connecting.then(
      (late) => late.terminate(),
      () => {},
    )
    throw error
  })
  frames.on('drain', () => socket.resume())
  const pinging = setInterval(() => socket.ping(), pingMs).unref()
  socket.onclose = () => {
    clearInterval(pinging)
    frames.end()
  }
  if (socket.readyState === socket.CLOSED) frames.end()
  if (socket.protocol !== 'v5.channel.k8s.io') {
    socket.terminate()
    throw new SandboxError(
      'sandbox_exec_failed',
      `The cluster speaks "${socket.protocol}" for commands, which can't end an input; Kubernetes 1.30 and later can`,
    )
  }
  const isOpen = (): boolean => socket.readyState === socket.OPEN
  return {
    frames,
    async send(bytes) {
      for (let start = 0; start < bytes.length; start += maxMessageBytes) {
        if (!isOpen()) return false
        const message = Buffer.concat([Buffer.of(0), bytes.subarray(start, start + maxMessageBytes)])
        const error = await new Promise<Error | undefined>((resolve) => socket.send(message, resolve))
        if (error) return false
      }
      return isOpen()
    },
    endInput() {
      if (isOpen()) socket.send(Buffer.of(255, 0), () => {})
    },
    close: () => socket.terminate(),
    unref() {
      const { _socket: connection } = socket as unknown as { _socket?: { unref?: () => void } }
      connection?.unref?.()
    },
  }
}
