import { describe, expect, test } from 'vitest'
import { type ProcessGroup, terminateProcessGroup } from './process-group.ts'

/** A group that is gone after the signals in `needs`, one look later each. */
function groupThatNeeds(...needs: string[]): ProcessGroup & { signals: string[] } {
  const signals: string[] = []
  return {
    name: 'process group 7',
    signals,
    async signal(signal) {
      signals.push(signal)
    },
    async survivors() {
      return needs.every((signal) => signals.includes(signal)) ? [] : ['process 7 (sleep)']
    },
  }
}

describe('terminateProcessGroup', () => {
  test('a group that is gone gets no signal', async () => {
    const group = groupThatNeeds()
    await terminateProcessGroup(group)
    expect(group.signals).toEqual([])
  })

  test('a group that ends on SIGTERM gets no SIGKILL', async () => {
    const group = groupThatNeeds('SIGTERM')
    await terminateProcessGroup(group, { graceMs: 1_000 })
    expect(group.signals).toEqual(['SIGTERM'])
  })

  test('a group that stays gets SIGKILL after the grace period', async () => {
    const group = groupThatNeeds('SIGKILL')
    await terminateProcessGroup(group, { graceMs: 5 })
    expect(group.signals.slice(0, 2)).toEqual(['SIGTERM', 'SIGKILL'])
  })

  test('a look that hangs is a loud failure with the name of the group', async () => {
    const group: ProcessGroup = { ...groupThatNeeds('SIGKILL'), survivors: () => new Promise(() => {}) }
    await expect(terminateProcessGroup(group, { callTimeoutMs: 10 })).rejects.toMatchObject({
      code: 'sandbox_survivors',
      message: expect.stringContaining('process group 7'),
    })
  })

  test('without a grace period SIGKILL comes at once', async () => {
    const group = groupThatNeeds('SIGKILL')
    await terminateProcessGroup(group, { graceMs: 0 })
    expect(group.signals).toEqual(['SIGKILL'])
  })

  test('a group that outlives SIGKILL is a loud failure that names who is left', async () => {
    const group = groupThatNeeds('never')
    await expect(terminateProcessGroup(group, { graceMs: 1, killWaitMs: 10, pollMs: 1 })).rejects.toMatchObject({
      code: 'sandbox_survivors',
      message: expect.stringContaining('process 7 (sleep)'),
      details: { survivors: ['process 7 (sleep)'] },
    })
    expect(group.signals.filter((signal) => signal === 'SIGKILL').length).toBeGreaterThan(1)
  })
})
