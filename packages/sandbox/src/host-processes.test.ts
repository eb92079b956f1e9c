import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { hostProcessGroup, sandboxProcesses, signalHostProcess } from './host-processes.ts'

const started: number[] = []
afterEach(() => {
  for (const processId of started.splice(0)) signalHostProcess(processId, 'SIGKILL')
})

/** A shell that says its process id and sleeps. */
async function start(command: string, env: Record<string, string>): Promise<number> {
  const child = spawn('/bin/sh', ['-c', `${command} echo $$; exec sleep 600`], {
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  const [said] = await once(child.stdout, 'data')
  started.push(Number(said))
  return Number(said)
}

describe.skipIf(process.platform !== 'linux')('processes of this machine (needs /proc)', () => {
  test('a sandbox is found by its mark, whole, and by nothing that looks like it', async () => {
    const mine = await start('', { AGENTRL_SANDBOX_ID: 'local-test-1' })
    await start('', { AGENTRL_SANDBOX_ID: 'local-test-12', OTHER: 'xAGENTRL_SANDBOX_ID=local-test-1' })
    expect(await sandboxProcesses('local-test-1').survivors()).toEqual([expect.stringContaining(`process ${mine} (`)])
    expect(await sandboxProcesses('local-test-none').survivors()).toEqual([])
  })

  test('members of a known session are found without a mark', async () => {
    const leader = await start('sleep 600 &', {})
    expect((await sandboxProcesses('local-test-none', new Set([leader])).survivors()).length).toBe(2)
  })

  test('a signal reaches every marked process, and those of the session', async () => {
    const leader = await start('sleep 600 &', { AGENTRL_SANDBOX_ID: 'local-test-2' })
    const all = sandboxProcesses('local-test-2', new Set([leader]))
    await all.signal('SIGKILL')
    await expect.poll(() => all.survivors()).toEqual([])
  })

  test('a group that is gone has no survivors and takes any signal', async () => {
    const leader = await start('', {})
    const group = hostProcessGroup(leader)
    expect((await group.survivors()).length).toBe(1)
    await group.signal('SIGKILL')
    await expect.poll(() => group.survivors()).toEqual([])
    await group.signal('SIGTERM')
  })
})
