export type { KubernetesCluster } from './connect-kubernetes.ts'
export { createKubernetesDriver, type KubernetesDriverOptions } from './kubernetes-driver.ts'
export type { PodTemplate, PodToleration } from './pod-objects.ts'
