import { type SandboxId, sandboxId } from '@agentrl/spec'
import type { V1NetworkPolicy, V1ObjectMeta, V1Pod, V1ResourceRequirements } from '@kubernetes/client-node'
import type { ResolvedBootOptions } from '../boot-options.ts'
import type { SandboxRecord } from '../sandbox-types.ts'

/** What pods of sandboxes have beside what the driver gives them. */
export interface PodTemplate {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly tolerations?: readonly PodToleration[]
  /** For example `gvisor`, where the cluster has one of that name. */
  readonly runtimeClassName?: string
  /** Names of secrets. */
  readonly imagePullSecrets?: readonly string[]
  /** Its token is not mounted. */
  readonly serviceAccountName?: string
  readonly priorityClassName?: string
  /** The user of every command. Default 0, root without capabilities. */
  readonly runAsUser?: number
  /** Capabilities to keep, for example `CHOWN` for a package manager. Default none. */
  readonly capabilities?: readonly string[]
  /** Disk for the files of a sandbox; more, and its pod is evicted. */
  readonly ephemeralStorageBytes?: number
}

/** As Kubernetes has it; without `key` it tolerates every taint. */
export interface PodToleration {
  readonly key?: string
  readonly operator?: 'Equal' | 'Exists'
  readonly value?: string
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
}

export interface PodRequest {
  readonly id: SandboxId
  readonly image: string
  readonly imagePullPolicy: 'IfNotPresent' | 'Always' | 'Never'
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** After this long the cluster ends the pod, whoever is left to ask for it. */
  readonly maxLifetimeMs: number
  readonly resolved: ResolvedBootOptions
  readonly template: PodTemplate
}

/** Label values are short and have no `/` or `:`, so what describes a sandbox is in annotations. */
const idLabel = 'agentrl.sandbox'
export const driverSelector = 'agentrl.driver=kubernetes'
const endsAnnotation = 'agentrl.ends'

export const containerName = 'sandbox'

/** Waits, takes in orphans, and ends on SIGTERM. */
const waitScript = `trap 'exit 0' TERM; while :; do sleep 86400 & wait $!; done`

/** The name of the pod, and of its network policy. */
export function objectName(id: SandboxId): string {
  return `agentrl-${id}`
}

/** The annotation that moves the end of a sandbox's life. */
export function endsAt(time: number): Record<string, string> {
  return { [endsAnnotation]: `${time}` }
}

/**
 * The pod of a sandbox: one container whose own process only waits. It can gain
 * no privileges, has no capability but those of the template, the default
 * seccomp profile, no token of the cluster and of its services only the address
 * of the API server in the environment.
 */
export function podOf(request: PodRequest): V1Pod {
  const { image, imagePullPolicy, maxLifetimeMs, resolved, template } = request
  const { nodeSelector, tolerations, runtimeClassName, imagePullSecrets, serviceAccountName, priorityClassName } =
    template
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadataOf(request),
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: Math.ceil(maxLifetimeMs / 1_000),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      ...(nodeSelector === undefined ? {} : { nodeSelector: { ...nodeSelector } }),
      ...(tolerations === undefined ? {} : { tolerations: tolerations.map((toleration) => ({ ...toleration })) }),
      ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
      ...(imagePullSecrets === undefined ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
      ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
      containers: [
        {
          name: containerName,
          image,
          imagePullPolicy,
          command: ['/bin/sh', '-c', waitScript],
          resources: resourcesOf(resolved.resources, template),
          securityContext: {
            runAsUser: template.runAsUser ?? 0,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'], add: [...(template.capabilities ?? [])] },
            seccompProfile: { type: 'RuntimeDefault' },
          },
        },
      ],
    },
  }
}

/** Nothing comes in, nothing goes out: the policy selects the pod and allows no peer. */
export function closedPolicyOf(request: PodRequest): V1NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(request),
    spec: {
      podSelector: { matchLabels: { [idLabel]: request.id } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [],
    },
  }
}

function metadataOf({ id, createdAt, resolved: { labels, lifetimeMs }, template }: PodRequest): V1ObjectMeta {
  return {
    name: objectName(id),
    labels: { ...template.labels, 'agentrl.driver': 'kubernetes', [idLabel]: id },
    annotations: {
      ...template.annotations,
      'agentrl.owner': labels.owner,
      'agentrl.run': labels.run,
      'agentrl.attempt': labels.attempt,
      'agentrl.created': `${createdAt}`,
      ...endsAt(createdAt + lifetimeMs),
    },
  }
}

/** What is asked for is also the limit. */
function resourcesOf(
  { cpus, memoryBytes }: ResolvedBootOptions['resources'],
  { ephemeralStorageBytes }: PodTemplate,
): V1ResourceRequirements {
  const amounts = {
    ...(cpus === undefined ? {} : { cpu: `${Math.ceil(cpus * 1_000)}m` }),
    ...(memoryBytes === undefined ? {} : { memory: `${memoryBytes}` }),
    ...(ephemeralStorageBytes === undefined ? {} : { 'ephemeral-storage': `${ephemeralStorageBytes}` }),
  }
  return { requests: amounts, limits: amounts }
}

/** The sandbox that a pod, or a network policy, belongs to; undefined: to none of ours. */
export function readRecord({ metadata }: { readonly metadata?: V1ObjectMeta }): SandboxRecord | undefined {
  const { 'agentrl.owner': owner, 'agentrl.run': run, 'agentrl.attempt': attempt } = metadata?.annotations ?? {}
  const id = metadata?.labels?.[idLabel]
  if (id === undefined || owner === undefined || run === undefined || attempt === undefined) return undefined
  return {
    id: sandboxId(id),
    driver: 'kubernetes',
    labels: { owner, run, attempt },
    createdAt: Number(metadata?.annotations?.['agentrl.created']),
    endsAt: Number(metadata?.annotations?.[endsAnnotation]),
  }
}
