import type { V1ContainerState, V1PodStatus } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { type PodState, readPodState } from './pod-state.ts'

function stateOf(state: V1ContainerState, status: V1PodStatus = {}): PodState {
  const container = { name: 'sandbox', image: 'x', imageID: '', ready: false, restartCount: 0, state }
  return readPodState({ status: { containerStatuses: [container], ...status } })
}

test('a pod that nobody looked at yet waits without a reason', () => {
  expect(readPodState({})).toEqual({ kind: 'waiting', reason: '' })
})

test('a pod that fits no node waits with the reason of the scheduler', () => {
  const message = '0/1 nodes are available'
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
  expect(readPodState({ status: { phase: 'Pending', conditions: [condition] } })).toEqual({
    kind: 'waiting',
    reason: `Unschedulable: ${message}`,
  })
})

test('a container that is created waits, and one that runs runs', () => {
  expect(stateOf({ waiting: { reason: 'ContainerCreating' } })).toEqual({
    kind: 'waiting',
    reason: 'ContainerCreating',
  })
  expect(stateOf({ running: {} })).toEqual({ kind: 'running' })
})

test.each([
  ['ErrImageNeverPull', 'Container image "x" is not present', false],
  ['InvalidImageName', 'Failed to apply default image tag', false],
  ['ErrImagePull', 'failed to resolve reference: dial tcp: connection refused: i/o timeout', true],
  ['ErrImagePull', 'docker.io/library/x:1: not found', false],
  ['ImagePullBackOff', 'Back-off pulling image "x": ErrImagePull: unauthorized', false],
  ['CreateContainerConfigError', 'secret "x" not found', false],
])('%s: %s fails at once', (reason, message, isRetryable) => {
  expect(stateOf({ waiting: { reason, message } })).toEqual({
    kind: 'failed',
    reason: `${reason}: ${message}`,
    isRetryable,
  })
})

test('a pod that is over says why', () => {
  expect(stateOf({ terminated: { exitCode: 137, reason: 'OOMKilled' } }, { phase: 'Failed' })).toEqual({
    kind: 'failed',
    reason: 'OOMKilled',
    isRetryable: false,
  })
  expect(readPodState({ status: { phase: 'Failed', reason: 'Evicted', message: 'low on disk' } })).toEqual({
    kind: 'failed',
    reason: 'Evicted: low on disk',
    isRetryable: true,
  })
  expect(stateOf({ terminated: { exitCode: 3 } })).toMatchObject({ reason: 'its container exited with 3' })
  expect(readPodState({ metadata: { deletionTimestamp: new Date(0) } })).toMatchObject({ kind: 'failed' })
})
