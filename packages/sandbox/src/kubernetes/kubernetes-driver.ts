import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, type Logger, SandboxError, sandboxId, silentLogger, systemClock } from '@agentrl/spec'
import { checkInteger, maxLifetimeMs, type ResolvedBootOptions, resolveBootOptions } from '../boot-options.ts'
import { bootSandbox } from '../boot-sandbox.ts'
import { sandboxMarks } from '../command-environment.ts'
import { invalidOption } from '../invalid-option.ts'
import { retryCalls } from '../retry-calls.ts'
import type { SandboxDriver } from '../sandbox.ts'
import type { SandboxBackend } from '../sandbox-backend.ts'
import type { SandboxCapabilities } from '../sandbox-types.ts'
import { connectKubernetes, type KubernetesCalls, type KubernetesCluster } from './connect-kubernetes.ts'
import { bootError, callError } from './kubernetes-errors.ts'
import { runKubernetesExec, startKubernetesExec } from './kubernetes-exec.ts'
import {
  closedPolicyOf,
  endsAt,
  objectName,
  type PodRequest,
  type PodTemplate,
  podOf,
  readRecord,
} from './pod-objects.ts'
import { readPodState } from './pod-state.ts'

/**
 * Sandboxes as pods of a Kubernetes cluster. The container's own process only
 * waits; commands run through exec over WebSockets, as one user. The cluster
 * ends a pod after `maxLifetimeMs` by itself; what is left of it is for a sweep.
 *
 *     label      agentrl.driver, .sandbox                           who made it, which it is
 *     annotation agentrl.owner, .run, .attempt, .created, .ends     who it belongs to, until when
 */
export interface KubernetesDriverOptions {
  readonly cluster: KubernetesCluster
  /** Default `default`. */
  readonly namespace?: string
  /** For boots that name none. */
  readonly image?: string
  /** Default `IfNotPresent`. */
  readonly imagePullPolicy?: 'IfNotPresent' | 'Always' | 'Never'
  /**
   * The network of the cluster enforces network policies, so that the egress
   * policy `none` holds. Nothing tells whether it does: find out before. Default
   * false: only `open` is accepted.
   */
  readonly enforcesNetworkPolicies?: boolean
  /** From asking for a pod until its container runs, fetching the image included. Default 300,000. */
  readonly bootTimeoutMs?: number
  /** The cluster ends a pod after this long. Default and maximum a day. */
  readonly maxLifetimeMs?: number
  readonly pod?: PodTemplate
  readonly clock?: Clock
  readonly logger?: Logger
}

/** A driver for pods. Needs the package `@kubernetes/client-node`. Throws `sandbox_invalid_option`. */
export function createKubernetesDriver(options: KubernetesDriverOptions): SandboxDriver {
  const { cluster, namespace = 'default', clock = systemClock, logger = silentLogger } = options
  checkInteger('maxLifetimeMs', options.maxLifetimeMs ?? maxLifetimeMs, 1_000, maxLifetimeMs)
  checkInteger('bootTimeoutMs', options.bootTimeoutMs ?? defaultBootTimeoutMs, 1, maxLifetimeMs)
  const calls = connectKubernetes(cluster, namespace)
  const capabilities = capabilitiesOf(options)

  return {
    name: 'kubernetes',
    capabilities,
    boot: async (bootOptions) =>
      bootSandbox({
        driver: 'kubernetes',
        resolved: resolveBootOptions(bootOptions, { name: 'kubernetes', capabilities }),
        createBackend: (resolved) => createBackend({ calls, resolved, options, capabilities, clock }),
        clock,
        logger,
      }),
    async list() {
      const listing = [calls.listPods(), options.enforcesNetworkPolicies === true ? calls.listPolicies() : []]
      const found = await Promise.all(listing).catch((error: unknown) => {
        throw callError(error, 'list pods')
      })
      // A policy outlives its pod when its owner is killed between the two.
      const records = found.flat().flatMap((object) => readRecord(object) ?? [])
      return [...new Map(records.reverse().map((record) => [record.id, record])).values()].reverse()
    },
    remove: (record) => removeObjects(calls, objectName(record.id), options),
  }
}

const defaultBootTimeoutMs = 300_000

function capabilitiesOf(options: KubernetesDriverOptions): SandboxCapabilities {
  return {
    hasOwnRoot: true,
    holdsEscapees: true,
    canSwitchUser: false,
    hasImages: true,
    hasResources: true,
    // What a pod can mount is of its node, not of this machine.
    hasMounts: false,
    maxLifetimeMs: options.maxLifetimeMs ?? maxLifetimeMs,
    egress: options.enforcesNetworkPolicies === true ? ['none', 'open'] : ['open'],
  }
}

interface BackendRequest {
  readonly calls: KubernetesCalls
  readonly resolved: ResolvedBootOptions
  readonly options: KubernetesDriverOptions
  readonly capabilities: SandboxCapabilities
  readonly clock: Clock
}

async function createBackend({
  calls,
  resolved,
  options,
  capabilities,
  clock,
}: BackendRequest): Promise<SandboxBackend> {
  const image = resolved.image ?? options.image
  if (image === undefined) throw invalidOption('The kubernetes driver needs an image')
  if (resolved.resources.maxProcesses !== undefined) {
    throw invalidOption('The kubernetes driver can not limit processes: the kubelet has one limit for all pods')
  }
  const id = sandboxId(`kubernetes-${randomBytes(6).toString('hex')}`)
  const name = objectName(id)
  const request: PodRequest = {
    id,
    image,
    imagePullPolicy: options.imagePullPolicy ?? 'IfNotPresent',
    createdAt: clock.now(),
    maxLifetimeMs: capabilities.maxLifetimeMs,
    resolved,
    template: options.pod ?? {},
  }
  try {
    if (resolved.egress.kind === 'none') await calls.createPolicy(closedPolicyOf(request))
    await calls.createPod(podOf(request))
    await waitUntilRunning(calls, name, options.bootTimeoutMs ?? defaultBootTimeoutMs, resolved.signal)
    const { users, home } = await preparePod(calls, name, resolved.workdir)
    return {
      id,
      driver: 'kubernetes',
      capabilities,
      options: resolved,
      home,
      env: { TMPDIR: '/tmp', LANG: 'C.UTF-8', ...sandboxMarks(id, '') },
      commandPath: (path) => path,
      async start(command) {
        const { user } = command
        if (user === undefined || users.includes(user)) return startKubernetesExec(calls, name, command)
        throw invalidOption(`Commands of a pod run as ${users[0]} only; found user "${user}"`)
      },
      async extendLifetime(lifetimeMs) {
        await calls.annotatePod(name, endsAt(clock.now() + lifetimeMs)).catch((error: unknown) => {
          throw callError(error, 'extend the life of the pod')
        })
      },
      end: () => removeObjects(calls, name, options),
    }
  } catch (error) {
    await removeObjects(calls, name, options).catch(() => {})
    if (resolved.signal?.aborted === true) throw resolved.signal.reason
    throw bootError(error)
  }
}

/** Between two looks at a pod: short at first, so that a quick boot is quick. */
const [firstLookMs, maxLookMs] = [50, 1_000]

async function waitUntilRunning(
  calls: KubernetesCalls,
  name: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs
  let reason = ''
  for (let waitMs = firstLookMs; ; waitMs = Math.min(waitMs * 1.2, maxLookMs)) {
    const pod = await calls.readPod(name)
    const state = pod === undefined ? undefined : readPodState(pod)
    if (state?.kind === 'running') return
    if (state === undefined) throw new SandboxError('sandbox_boot_failed', `Pod ${name} was deleted`)
    if (state.kind === 'failed') {
      const { isRetryable } = state
      throw new SandboxError('sandbox_boot_failed', `Pod ${name} can't run: ${state.reason}`, { isRetryable })
    }
    reason = state.reason
    if (performance.now() + waitMs >= endsAtMs) break
    await delay(waitMs, undefined, signal === undefined ? {} : { signal })
  }
  // A node may have a reason that is no state of the container: no network, no room, no volume.
  const why = [reason, await calls.lastWarning(name)].filter((part) => part !== '').join('; ')
  throw new SandboxError('sandbox_boot_failed', `Pod ${name} did not run within ${timeoutMs} ms: ${why}`, {
    isRetryable: true,
  })
}

/** $1 the working folder. Prints the user's name and number, and the home folder. */
const prepareScript = `mkdir -p /tmp "$1" && { chmod 1777 /tmp 2>/dev/null || [ -w /tmp ]; } && [ -w "$1" ] || {
  echo "user $(id -u) can't write to /tmp and $1" >&2; exit 1
}
id -un 2>/dev/null || id -u; id -u; printf %s "$HOME"`

/** Makes the folders that every sandbox has. */
async function preparePod(
  calls: KubernetesCalls,
  name: string,
  workdir: string,
): Promise<{ readonly users: readonly string[]; readonly home: string }> {
  const said = await runKubernetesExec(calls, name, ['/bin/sh', '-c', prepareScript, 'sh', workdir])
  const [userName = '', userId = '', home = ''] = said.split('\n')
  return { users: [userName, userId], home: home.startsWith('/') ? home : '/' }
}

/** Below the time that a disposal has. */
const maxRemovalMs = 25_000

/** Calls in a row that may fail in a way that a retry can mend. */
const maxFailedCalls = 5

/** Removes the pod and its policy, and waits until the pod's node says that its processes have ended. */
async function removeObjects(calls: KubernetesCalls, name: string, options: KubernetesDriverOptions): Promise<void> {
  const retried = <T>(call: () => Promise<T>): Promise<T> =>
    retryCalls(maxFailedCalls, () =>
      call().catch((error: unknown) => {
        throw callError(error, 'remove a pod')
      }),
    )
  const isThere = (): Promise<boolean> => retried(async () => (await calls.readPod(name)) !== undefined)
  await retried(() => calls.deletePod(name))
  const endsAtMs = performance.now() + maxRemovalMs
  for (let waitMs = firstLookMs; await isThere(); waitMs = Math.min(waitMs * 1.2, maxLookMs)) {
    if (performance.now() > endsAtMs) {
      throw new SandboxError('sandbox_survivors', `Pod ${name} is still there ${maxRemovalMs} ms after its removal`)
    }
    await delay(waitMs)
  }
  if (options.enforcesNetworkPolicies === true) await retried(() => calls.deletePolicy(name))
}
