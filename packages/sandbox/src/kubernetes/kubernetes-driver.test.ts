import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BootOptions } from '../sandbox-types.ts'
import { createKubernetesDriver, type KubernetesDriverOptions } from './kubernetes-driver.ts'
import { receivedScript, receiveScript } from './kubernetes-exec.ts'

const options: BootOptions = { labels: { run: 'r', attempt: '1' }, egress: { kind: 'open' } }
const refusal = expect.objectContaining({ code: 'sandbox_invalid_option' })

describe('without a cluster', () => {
  let folder: string
  let base: KubernetesDriverOptions
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'agentrl-kubernetes-test-'))
    const path = join(folder, 'kubeconfig')
    const config = {
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
      clusters: [{ name: 'here', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'me', user: {} }],
    }
    writeFileSync(path, JSON.stringify(config))
    base = { cluster: { kind: 'kubeconfig', path }, image: 'x' }
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('a boot says that the API server can not be reached, and may be tried again', async () => {
    await expect(createKubernetesDriver(base).boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringContaining('127.0.0.1:1'),
      isRetryable: true,
    })
    await expect(createKubernetesDriver(base).list()).rejects.toMatchObject({ code: 'sandbox_exec_failed' })
  })

  test('a configuration that is not there, or has no such context, is refused', () => {
    const missing = { kind: 'kubeconfig', path: join(folder, 'none') } as const
    expect(() => createKubernetesDriver({ ...base, cluster: missing })).toThrow(refusal)
    const elsewhere = { kind: 'kubeconfig', path: join(folder, 'kubeconfig'), context: 'elsewhere' } as const
    expect(() => createKubernetesDriver({ ...base, cluster: elsewhere })).toThrow(refusal)
  })

  test('a boot without an image, and a limit of processes, are refused', async () => {
    const { cluster } = base
    await expect(createKubernetesDriver({ cluster }).boot(options)).rejects.toEqual(refusal)
    const limited = { ...options, resources: { maxProcesses: 10 } }
    await expect(createKubernetesDriver(base).boot(limited)).rejects.toEqual(refusal)
  })

  test('only what is known to be enforced is promised', async () => {
    const none: BootOptions = { ...options, egress: { kind: 'none' } }
    await expect(createKubernetesDriver(base).boot(none)).rejects.toEqual(refusal)
    expect(createKubernetesDriver(base).capabilities.egress).toEqual(['open'])
    const enforced = createKubernetesDriver({ ...base, enforcesNetworkPolicies: true })
    expect(enforced.capabilities.egress).toEqual(['none', 'open'])
  })

  test('limits that are none are refused', () => {
    expect(() => createKubernetesDriver({ ...base, maxLifetimeMs: 86_400_001 })).toThrow(refusal)
    expect(() => createKubernetesDriver({ ...base, bootTimeoutMs: 0 })).toThrow(refusal)
  })
})

test('the script of a command runs it in its folder with its variables, and ends with its exit code', () => {
  const argv = ['sh', '-c', 'pwd; printf "%s|" "$A" "$1"; cat; exit 7', 'sh', "it's\n"]
  const script = receivedScript('t0', { argv, cwd: '/usr', env: { A: '$HOME "x"' } })
  const run = spawnSync('/bin/sh', ['-c', `exec 3>&2\n${script}`], { input: 'input', encoding: 'utf8' })
  expect(run.stdout).toBe('/usr\n$HOME "x"|it\'s\n|input')
  expect(run.stderr).toMatch(/^agentrl-started t0 \d+\nagentrl-ended t0 7\n$/)
  expect(run.status).toBe(7)
})

test('a shell that receives a command gives it the rest of the input, whatever is in it', () => {
  const script = receivedScript('t0', { argv: ['cat'], cwd: '/', env: {} })
  const rest = 'last\\n \\ \tline\n\nend'
  const input = `${script}last\n${rest}`
  const run = spawnSync('/bin/sh', ['-c', receiveScript, 'sh', 'last'], { input, encoding: 'utf8' })
  expect([run.status, run.stdout]).toEqual([0, rest])
})

test.each(['', 'la', 'last of all\n', ' last\n'])('a command whose last line is %j is cut, and not run', (end) => {
  const script = receivedScript('t0', { argv: ['echo', 'ran'], cwd: '/', env: {} })
  const run = spawnSync('/bin/sh', ['-c', receiveScript, 'sh', 'last'], { input: script + end, encoding: 'utf8' })
  expect([run.stdout, run.stderr]).toEqual(['', ''])
})

test('the script of a command refuses a folder that is not there', () => {
  const script = receivedScript('t0', { argv: ['true'], cwd: '/no/such', env: {} })
  const run = spawnSync('/bin/sh', ['-c', `exec 3>&2 2>/dev/null\n${script}`], { encoding: 'utf8' })
  expect([run.status, run.stderr]).toEqual([126, 'agentrl-refused t0\n'])
})
