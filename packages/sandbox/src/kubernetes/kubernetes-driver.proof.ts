import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sandboxId } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { resolveBootOptions } from '../boot-options.ts'
import { execAndWait } from '../exec-and-wait.ts'
import type { Sandbox } from '../sandbox.ts'
import type { BootOptions } from '../sandbox-types.ts'
import { sweepOrphans } from '../sweep-orphans.ts'
import { connectKubernetes } from './connect-kubernetes.ts'
import { createKubernetesDriver, type KubernetesDriverOptions } from './kubernetes-driver.ts'
import { runKubernetesExec } from './kubernetes-exec.ts'
import { objectName, podOf } from './pod-objects.ts'
import { readPodState } from './pod-state.ts'

// Run by `pnpm proof:kubernetes`, which starts the cluster.
const path = process.env.AGENTRL_KUBECONFIG ?? ''
const image = process.env.AGENTRL_KUBERNETES_IMAGE ?? ''
const auditLog = process.env.AGENTRL_KUBERNETES_AUDIT_LOG ?? ''
const base: KubernetesDriverOptions = { cluster: { kind: 'kubeconfig', path }, image }
const options: BootOptions = { labels: { run: 'r', attempt: '1' }, egress: { kind: 'open' } }

async function withSandbox<T>(
  driverOptions: Partial<KubernetesDriverOptions>,
  bootOptions: Partial<BootOptions>,
  work: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const sandbox = await createKubernetesDriver({ ...base, ...driverOptions }).boot({ ...options, ...bootOptions })
  try {
    return await work(sandbox)
  } finally {
    await sandbox[Symbol.asyncDispose]()
  }
}

/** The kubeconfig of the cluster behind a forwarder whose connections can be cut. */
async function withForwarder(work: (kubeconfig: string, cut: () => void) => Promise<void>): Promise<void> {
  const config = JSON.parse(await readFile(path, 'utf8'))
  const { hostname, port } = new URL(config.clusters[0].cluster.server)
  const sockets = new Set<Socket>()
  const forwarder = createServer((client) => {
    const server = connect(Number(port), hostname)
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.pipe(server).pipe(client)
  })
  await new Promise<void>((resolve) => forwarder.listen(0, '127.0.0.1', resolve))
  config.clusters[0].cluster.server = `https://127.0.0.1:${(forwarder.address() as AddressInfo).port}`
  const folder = await mkdtemp(join(tmpdir(), 'agentrl-forwarder-'))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  try {
    await writeFile(join(folder, 'kubeconfig'), JSON.stringify(config))
    await work(join(folder, 'kubeconfig'), cut)
  } finally {
    cut()
    forwarder.close()
    await rm(folder, { recursive: true })
  }
}

/** An HTTP server in a sandbox, at the address of its pod. */
async function serve(sandbox: Sandbox): Promise<string> {
  await sandbox.exec('echo pong > page; httpd -p 8080', { check: true })
  const { stdout } = await sandbox.exec("ip addr show eth0 | sed -n 's/.*inet \\([0-9.]*\\).*/\\1/p'", { check: true })
  return stdout.trim()
}

describe('the kubernetes driver with a cluster', () => {
  test('an image that no node has, and one that can not be fetched, are named at once', async () => {
    const missing = createKubernetesDriver({ ...base, image: 'no-such-image:1', imagePullPolicy: 'Never' })
    await expect(missing.boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringMatching(/ErrImageNeverPull.*no-such-image:1/),
      isRetryable: false,
    })
    const unreachable = createKubernetesDriver({ ...base, image: '127.0.0.1:1/no/such:image' })
    await expect(unreachable.boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringMatching(/ErrImagePull.*127.0.0.1:1\/no\/such:image/),
      isRetryable: true,
    })
    expect(await missing.list()).toEqual([])
  })

  test('a pod that fits no node is given up in time, with the reason of the scheduler', async () => {
    const driver = createKubernetesDriver({ ...base, pod: { nodeSelector: { disk: 'none' } }, bootTimeoutMs: 1_500 })
    await expect(driver.boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringMatching(/did not run within 1500 ms: .*affinity\/selector/),
      isRetryable: true,
    })
    expect(await driver.list()).toEqual([])
  })

  test('what the API server refuses is said as it says it', async () => {
    const driver = createKubernetesDriver({ ...base, pod: { labels: { 'not a label': 'x' } } })
    await expect(driver.boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringMatching(/answered 422: .*not a label/),
      isRetryable: false,
    })
    await expect(createKubernetesDriver({ ...base, namespace: 'none' }).boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringMatching(/answered 404: .*none/),
    })
  })

  test('a pod has no privileges, no capability, no token, and its limits hold', async () => {
    const resources = { cpus: 0.5, memoryBytes: 64 * 1024 * 1024 }
    await withSandbox({}, { resources }, async (sandbox) => {
      const { stdout } = await sandbox.exec('grep -E "^(NoNewPrivs|CapBnd|CapEff|Seccomp):" /proc/self/status')
      expect(stdout.replaceAll('\t', ' ')).toBe(
        'CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n',
      )
      expect(await sandbox.exists('/var/run/secrets')).toBe(false)
      expect((await sandbox.exec('env')).stdout).not.toMatch(/^(?!KUBERNETES_)\w+_SERVICE_/m)
      const hungry = await sandbox.exec('exec tail -n 1 /dev/zero', { timeoutMs: 20_000 })
      expect(hungry).toMatchObject({ kind: 'exited', exitCode: 137 })
      expect((await sandbox.exec('echo alive')).stdout).toBe('alive\n')
    })
  })

  test('the user and the capabilities of a template are those of its commands', async () => {
    await withSandbox({ pod: { runAsUser: 1234 } }, { workdir: '/tmp/work' }, async (sandbox) => {
      expect((await sandbox.exec('id -u; echo x > file', { user: '1234' })).stdout).toBe('1234\n')
      await expect(sandbox.exec('id', { user: 'root' })).rejects.toMatchObject({ code: 'sandbox_invalid_option' })
    })
    await withSandbox({ pod: { capabilities: ['CHOWN'] } }, {}, async (sandbox) => {
      expect(await sandbox.exec('touch x && chown 7 x && stat -c %u x', { user: 'root' })).toMatchObject({
        stdout: '7\n',
      })
    })
    const nowhere = createKubernetesDriver({ ...base, pod: { runAsUser: 1234 } })
    await expect(nowhere.boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringMatching(/can't write/),
    })
  })

  test('a limit of processes is refused', async () => {
    const booting = createKubernetesDriver(base).boot({ ...options, resources: { maxProcesses: 10 } })
    await expect(booting).rejects.toMatchObject({ code: 'sandbox_invalid_option' })
  })

  test('a pod that somebody deletes is lost, for what runs and for what comes', async () => {
    await withSandbox({}, {}, async (sandbox) => {
      const running = sandbox.exec('sleep 600').catch((error: unknown) => error)
      await connectKubernetes(base.cluster, 'default').deletePod(objectName(sandbox.id))
      expect(await running).toMatchObject({ code: 'sandbox_lost' })
      await expect(sandbox.exec('true')).rejects.toMatchObject({ code: 'sandbox_lost' })
      await expect(sandbox.readFile('/etc/passwd')).rejects.toMatchObject({ code: 'sandbox_lost' })
    })
  })

  test('a pod whose owner is gone ends by itself at its deadline, and is swept', async () => {
    const id = sandboxId('kubernetes-deadline')
    const calls = connectKubernetes(base.cluster, 'default')
    const driver = createKubernetesDriver(base)
    const owner = { ...options, labels: { ...options.labels, owner: 'elsewhere:1:1' } }
    const resolved = resolveBootOptions(owner, driver)
    const request = { id, image, imagePullPolicy: 'Never', createdAt: 0, maxLifetimeMs: 2_000, resolved } as const
    await calls.createPod(podOf({ ...request, template: {} }))
    const state = async () => readPodState((await calls.readPod(objectName(id))) ?? {})
    while ((await state()).kind !== 'failed') await delay(100)
    expect(await state()).toMatchObject({ reason: expect.stringContaining('DeadlineExceeded') })
    await expect(runKubernetesExec(calls, objectName(id), ['true'])).rejects.toMatchObject({
      code: 'sandbox_lost',
      message: expect.stringContaining('DeadlineExceeded'),
    })
    const { removed, failures } = await sweepOrphans({ drivers: [driver] })
    expect(removed.map((record) => record.id)).toEqual([id])
    expect(failures).toEqual([])
    expect(await driver.list()).toEqual([])
  })

  test('a connection that is cut fails its command in a way that a retry can mend, and a long command survives', async () => {
    await withForwarder(async (kubeconfig, cut) => {
      await withSandbox({ cluster: { kind: 'kubeconfig', path: kubeconfig } }, {}, async (sandbox) => {
        const cutLater = { onOutput: () => cut() }
        await expect(sandbox.exec('echo started; sleep 5', cutLater)).rejects.toMatchObject({
          code: 'sandbox_exec_failed',
          isRetryable: true,
        })
        const cutting = setInterval(cut, 400)
        const outcome = await execAndWait(sandbox, 'sleep 3; echo whole; exit 4', { pollMs: 200 })
        clearInterval(cutting)
        expect(outcome).toMatchObject({ kind: 'exited', exitCode: 4, stdout: 'whole\n' })
      })
    })
  })

  test('no command, no variable and no input is in the log of the API server', async () => {
    const secret = 'hunter2-hunter2'
    await withSandbox({}, { env: { SECRET_KEY: secret } }, async (sandbox) => {
      await sandbox.exec(`echo ${secret}`, { env: { OTHER: secret }, stdin: secret })
      await sandbox.writeFile('file', secret)
      expect(readFileSync(auditLog, 'utf8')).toContain(`${objectName(sandbox.id)}/exec`)
    })
    expect(readFileSync(auditLog, 'utf8')).not.toContain(secret)
  })

  test('a shell that was replaced by one that hangs or floods keeps nobody waiting, and the sandbox ends', async () => {
    for (const program of ['while :; do :; done', 'while :; do echo flood; done']) {
      await withSandbox({}, {}, async (sandbox) => {
        await sandbox.writeFile('/bin/own-shell', `#!/bin/sh-real\n${program}\n`, { mode: 0o755 })
        const replace = 'ln -s busybox /bin/sh-real; ln -sf own-shell /bin/sh; /bin/busybox sleep 600'
        await expect(sandbox.exec(replace, { timeoutMs: 500, graceMs: 0 })).rejects.toMatchObject({
          code: expect.stringMatching(/^sandbox_(survivors|exec_failed)$/),
        })
        await expect(sandbox.readFile('/x', { signal: AbortSignal.timeout(500) })).rejects.toMatchObject({})
      })
    }
    expect(await createKubernetesDriver(base).list()).toEqual([])
  }, 120_000)

  test('where the cluster enforces network policies, "none" reaches nobody and "open" does', async () => {
    await withSandbox({}, {}, async (server) => {
      const address = await serve(server)
      const ask = `{ printf 'GET /page HTTP/1.0\\r\\n\\r\\n'; sleep 1; } | nc -w 3 ${address} 8080`
      await withSandbox({ enforcesNetworkPolicies: true }, {}, async (sandbox) => {
        expect(await sandbox.exec(ask)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('pong') })
      })
      await withSandbox({ enforcesNetworkPolicies: true }, { egress: { kind: 'none' } }, async (sandbox) => {
        expect(await sandbox.exec(ask)).toMatchObject({ exitCode: 1, stdout: '' })
      })
    })
    expect(await connectKubernetes(base.cluster, 'default').listPolicies()).toEqual([])
  })

  test('cycles of boot, command and disposal leave nothing', async () => {
    const times: { boot: number; exec: number; dispose: number }[] = []
    const timed = async <T>(work: PromiseLike<T>): Promise<[T, number]> => {
      const startedAt = performance.now()
      return [await work, performance.now() - startedAt]
    }
    const driver = createKubernetesDriver(base)
    for (let cycle = 0; cycle < 20; cycle += 1) {
      const [sandbox, boot] = await timed(driver.boot(options))
      const [, exec] = await timed(sandbox.exec('true'))
      const [, dispose] = await timed(sandbox[Symbol.asyncDispose]())
      times.push({ boot, exec, dispose })
    }
    const median = (name: 'boot' | 'exec' | 'dispose') =>
      Math.round(times.map((time) => time[name]).sort((a, b) => a - b)[times.length / 2] ?? 0)
    const line = `20 cycles, one at a time, medians: boot ${median('boot')} ms, command ${median('exec')} ms, disposal ${median('dispose')} ms\n`
    process.stdout.write(line)
    expect(await driver.list()).toEqual([])
  }, 300_000)
})
