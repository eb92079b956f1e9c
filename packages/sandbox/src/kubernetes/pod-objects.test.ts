import { sandboxId } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { type ResolvedBootOptions, resolveBootOptions } from '../boot-options.ts'
import type { BootOptions, SandboxCapabilities } from '../sandbox-types.ts'
import { closedPolicyOf, objectName, type PodRequest, type PodTemplate, podOf, readRecord } from './pod-objects.ts'

const capabilities: SandboxCapabilities = {
  hasOwnRoot: true,
  holdsEscapees: true,
  canSwitchUser: false,
  hasImages: true,
  hasResources: true,
  hasMounts: false,
  maxLifetimeMs: 86_400_000,
  egress: ['none', 'open'],
}

function resolve(options: Partial<BootOptions> = {}): ResolvedBootOptions {
  const labels = { owner: 'host:1:2', run: 'run/1', attempt: 'task:7/3' }
  return resolveBootOptions({ labels, egress: { kind: 'none' }, ...options }, { name: 'kubernetes', capabilities })
}

function request(options: Partial<BootOptions> = {}, template: PodTemplate = {}): PodRequest {
  return {
    id: sandboxId('kubernetes-0'),
    image: 'registry/image:1',
    imagePullPolicy: 'IfNotPresent',
    createdAt: 1_000,
    maxLifetimeMs: 90_500,
    resolved: resolve(options),
    template,
  }
}

test('a pod can gain nothing and has nothing of the cluster', () => {
  const { spec } = podOf(request())
  expect(spec).toMatchObject({
    restartPolicy: 'Never',
    activeDeadlineSeconds: 91,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
  })
  expect(spec?.containers).toHaveLength(1)
  expect(spec?.containers[0]).toMatchObject({
    image: 'registry/image:1',
    imagePullPolicy: 'IfNotPresent',
    resources: { requests: {}, limits: {} },
    securityContext: {
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: [] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  })
})

test('what is asked for is also the limit, and fractions of a thousandth are rounded up', () => {
  const resources = { cpus: 0.0015, memoryBytes: 64 * 1024 * 1024 }
  const amounts = { cpu: '2m', memory: '67108864', 'ephemeral-storage': '1000000' }
  expect(podOf(request({ resources }, { ephemeralStorageBytes: 1_000_000 })).spec?.containers[0]?.resources).toEqual({
    requests: amounts,
    limits: amounts,
  })
})

test('everything of a template is passed on, and nothing of it hides what the driver needs', () => {
  const template: PodTemplate = {
    labels: { team: 'a', 'agentrl.driver': 'other' },
    annotations: { note: 'b', 'agentrl.owner': 'other' },
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }],
    runtimeClassName: 'gvisor',
    imagePullSecrets: ['registry'],
    serviceAccountName: 'agents',
    priorityClassName: 'low',
    runAsUser: 1_000,
    capabilities: ['CHOWN'],
  }
  const { metadata, spec } = podOf(request({}, template))
  expect(metadata?.labels).toMatchObject({ team: 'a', 'agentrl.driver': 'kubernetes' })
  expect(metadata?.annotations).toMatchObject({ note: 'b', 'agentrl.owner': 'host:1:2' })
  expect(spec).toMatchObject({
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }],
    runtimeClassName: 'gvisor',
    imagePullSecrets: [{ name: 'registry' }],
    serviceAccountName: 'agents',
    priorityClassName: 'low',
  })
  expect(spec?.containers[0]?.securityContext).toMatchObject({
    runAsUser: 1_000,
    capabilities: { drop: ['ALL'], add: ['CHOWN'] },
  })
})

test('pod and policy tell of their sandbox, and the policy selects exactly that pod', () => {
  const [pod, policy] = [podOf(request({ lifetimeMs: 5_000 })), closedPolicyOf(request({ lifetimeMs: 5_000 }))]
  const record = {
    id: 'kubernetes-0',
    driver: 'kubernetes',
    labels: { owner: 'host:1:2', run: 'run/1', attempt: 'task:7/3' },
    createdAt: 1_000,
    endsAt: 6_000,
  }
  expect([readRecord(pod), readRecord(policy)]).toEqual([record, record])
  expect([pod.metadata?.name, policy.metadata?.name]).toEqual([objectName(request().id), objectName(request().id)])
  expect(pod.metadata?.labels).toMatchObject(policy.spec?.podSelector?.matchLabels ?? { none: '' })
  expect(policy.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'], ingress: [], egress: [] })
})

test('label values are such as Kubernetes takes, whatever run and attempt are', () => {
  const labels = { run: 'r'.repeat(255), attempt: 'a/b:c' }
  for (const value of Object.values(podOf(request({ labels })).metadata?.labels ?? {})) {
    expect(value).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/)
  }
})

test('an object without our annotations is none of ours', () => {
  expect(readRecord({})).toBeUndefined()
  expect(readRecord({ metadata: { labels: { 'agentrl.sandbox': 'x' } } })).toBeUndefined()
})
