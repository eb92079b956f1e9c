import { describe } from 'vitest'
import { registerConformance } from '../__fixtures__/register-conformance.ts'
import { createKubernetesDriver } from './kubernetes-driver.ts'

// Run by `pnpm proof:kubernetes`, which starts the cluster.
const path = process.env.AGENTRL_KUBECONFIG ?? ''
const image = process.env.AGENTRL_KUBERNETES_IMAGE ?? ''

describe('the kubernetes driver', () => {
  registerConformance({
    driver: createKubernetesDriver({ cluster: { kind: 'kubeconfig', path }, image, enforcesNetworkPolicies: true }),
    boot: { egress: { kind: 'none' } },
  })
})
