import type { V1Pod } from '@kubernetes/client-node'

/** What the cluster says of a pod. */
export type PodState =
  | { readonly kind: 'running' }
  /** It may still come; `reason` is empty while there is none. */
  | { readonly kind: 'waiting'; readonly reason: string }
  /** It will not come, or is over. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isRetryable: boolean }

/** Why a container that waits will not start: Kubernetes itself tries again and again. */
const hopeless = new Set([
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImagePullBackOff',
  'ImageInspectError',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
])

/** A registry that could not be reached may answer the next time; one that said no says it again. */
const passing = /timeout|timed out|connection re|no such host|temporar|too many requests|unavailable|EOF/i

/** Reads the state of a pod with one container. */
export function readPodState({ metadata, status }: V1Pod): PodState {
  const state = status?.containerStatuses?.[0]?.state
  if (metadata?.deletionTimestamp !== undefined) return failed('it is being deleted', false)
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded' || state?.terminated !== undefined) {
    const { reason, message, exitCode } = state?.terminated ?? {}
    const ends = [status?.reason, status?.message, reason, message]
    return failed(joinReasons(ends) || `its container exited with ${exitCode}`, status?.reason === 'Evicted')
  }
  if (state?.running !== undefined) return { kind: 'running' }
  const { reason, message } = state?.waiting ?? {}
  if (reason !== undefined && hopeless.has(reason)) {
    const isPull = reason === 'ErrImagePull' || reason === 'ImagePullBackOff'
    return failed(joinReasons([reason, message]), isPull && passing.test(message ?? ''))
  }
  const unmet = status?.conditions?.find(({ type, status: holds }) => type === 'PodScheduled' && holds === 'False')
  const waits = unmet === undefined ? [reason, message] : [unmet.reason, unmet.message]
  return { kind: 'waiting', reason: joinReasons(waits) }
}

function failed(reason: string, isRetryable: boolean): PodState {
  return { kind: 'failed', reason, isRetryable }
}

function joinReasons(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(': ')
}
