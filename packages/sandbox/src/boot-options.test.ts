import { describe, expect, test } from 'vitest'
import { resolveBootOptions } from './boot-options.ts'
import { isOwnerAlive, processOwner } from './process-owner.ts'
import type { BootOptions, SandboxCapabilities } from './sandbox-types.ts'

const capabilities: SandboxCapabilities = {
  hasOwnRoot: true,
  holdsEscapees: true,
  canSwitchUser: true,
  hasImages: true,
  hasResources: true,
  hasMounts: true,
  maxLifetimeMs: 86_400_000,
  egress: ['none', 'adapter', 'hosts', 'open'],
}
const driver = { name: 'x', capabilities }
const options: BootOptions = { labels: { run: 'r', attempt: '1' }, egress: { kind: 'none' } }

describe('resolveBootOptions', () => {
  test('every default is in place, and the calling process is the owner', () => {
    expect(resolveBootOptions(options, driver)).toMatchObject({
      labels: { run: 'r', attempt: '1', owner: processOwner() },
      workdir: '/app',
      lifetimeMs: 3_600_000,
      env: {},
      mounts: [],
      resources: {},
    })
  })

  test('the environment holds what is named and nothing else; what is given wins', () => {
    process.env.AGENTRL_TEST_A = 'host a'
    process.env.AGENTRL_TEST_B = 'host b'
    const inheritEnv = ['AGENTRL_TEST_A', 'AGENTRL_TEST_B', 'AGENTRL_TEST_NONE']
    const env = { AGENTRL_TEST_B: 'given' }
    const expected = { AGENTRL_TEST_A: 'host a', AGENTRL_TEST_B: 'given' }
    expect(resolveBootOptions({ ...options, inheritEnv, env }, driver).env).toEqual(expected)
    expect(resolveBootOptions(options, { ...driver, inheritEnv: ['AGENTRL_TEST_A'] }).env).toEqual({
      AGENTRL_TEST_A: 'host a',
    })
    expect(
      resolveBootOptions({ ...options, inheritEnv: [] }, { ...driver, inheritEnv: ['AGENTRL_TEST_A'] }).env,
    ).toEqual({})
    delete process.env.AGENTRL_TEST_A
    delete process.env.AGENTRL_TEST_B
  })

  test.each<Partial<BootOptions>>([
    { resources: { cpus: 0 } },
    { resources: { cpus: Number.NaN } },
    { resources: { memoryBytes: 1.5 } },
    { resources: { maxProcesses: 0 } },
    { lifetimeMs: 86_400_001 },
    { egress: { kind: 'adapter', adapter: { socketPath: 'relative', port: 80 } } },
    { egress: { kind: 'adapter', adapter: { socketPath: '/x', port: 0 } } },
    { egress: { kind: 'hosts', hosts: ['http://x'] } },
    { mounts: [{ hostPath: 'relative', path: '/x' }] },
    { labels: { run: 'a/../b c', attempt: '1' } },
    { labels: { run: 'r', attempt: '1', owner: '' } },
  ])('%j is refused', (part) => {
    expect(() => resolveBootOptions({ ...options, ...part }, driver)).toThrow(
      expect.objectContaining({ code: 'sandbox_invalid_option' }),
    )
  })
})

describe('owners', () => {
  test('this process is alive, its number at another time is not, and elsewhere is not for us to say', () => {
    const owner = processOwner()
    expect(isOwnerAlive(owner)).toBe(true)
    expect(isOwnerAlive(owner.replace(/\d+$/, '1'))).toBe(false)
    expect(isOwnerAlive(owner.replace(/:\d+:/, ':999999999:'))).toBe(false)
    expect(isOwnerAlive('elsewhere:1:1')).toBeUndefined()
    expect(isOwnerAlive('somebody')).toBeUndefined()
  })
})
