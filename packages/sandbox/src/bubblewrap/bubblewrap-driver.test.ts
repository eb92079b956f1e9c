import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lacksBubblewrap } from '../__fixtures__/has-bubblewrap.ts'
import type { Sandbox } from '../sandbox.ts'
import type { BootOptions } from '../sandbox-types.ts'
import { createBubblewrapDriver } from './bubblewrap-driver.ts'
import { initScript } from './init-script.ts'

const options: BootOptions = { labels: { run: 'r', attempt: '1' }, egress: { kind: 'none' } }

describe.skipIf(lacksBubblewrap())('the bubblewrap driver', () => {
  let folder: string
  let sandbox: Sandbox

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agentrl-bubblewrap-'))
    sandbox = await createBubblewrapDriver({ folder }).boot(options)
  })
  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  async function run(command: string): Promise<string> {
    return (await sandbox.exec(command)).stdout.trim()
  }

  test('the system is there and can not be written, the rest is private and can', async () => {
    expect(await run('ls /usr/bin/env')).toBe('/usr/bin/env')
    expect(await run('touch /usr/probe 2>/dev/null; echo $?')).not.toBe('0')
    expect(await run('mkdir -p /solution /logs /etc/own && touch /solution/x /logs/x /etc/own/x && echo written')).toBe(
      'written',
    )
  })

  test('commands have no capability and can gain none', async () => {
    const status = await run('grep -E "^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)" /proc/self/status')
    expect(status.replaceAll('\t', ' ').split('\n')).toEqual([
      'CapPrm: 0000000000000000',
      'CapEff: 0000000000000000',
      'CapBnd: 0000000000000000',
      'CapAmb: 0000000000000000',
      'NoNewPrivs: 1',
    ])
    expect(await run('mount -o remount,rw /usr 2>/dev/null; echo $?')).not.toBe('0')
  })

  test('nothing of the host shows: no home, no accounts, no paths, no environment, no host name', async () => {
    expect(await run(`ls -d ${folder} /home/* /work /boot /sys 2>/dev/null`)).toBe('')
    expect(await run('cut -d: -f1 /etc/passwd')).toBe('root\nnobody')
    expect(await run('tr "\\0" " " < /proc/1/cmdline')).not.toContain(folder)
    expect(await run('tr "\\0" "\\n" < /proc/1/environ')).toBe(`AGENTRL_SANDBOX_ID=${sandbox.id}`)
    expect(await run('hostname')).toBe('sandbox')
    expect(await run('ls /etc/ssl/private 2>/dev/null')).toBe('')
  })

  test('a command has its three streams open and no other descriptor', async () => {
    // The fourth is the one that ls reads the folder with.
    expect(await run('ls /proc/self/fd')).toBe('0\n1\n2\n3')
  })

  test('the control folder can not be written from inside', async () => {
    expect(await run('touch /run/agentrl/commands/x /run/agentrl/init.sh 2>/dev/null; echo $?')).not.toBe('0')
  })

  test('finished commands leave nothing in the control folder and no process', async () => {
    for (let count = 0; count < 20; count += 1) await sandbox.exec('true')
    expect(readdirSync(join(folder, sandbox.id, 'control/commands'))).toEqual([])
    expect(Number(await run('ls -d /proc/[0-9]* | wc -l'))).toBeLessThan(10)
  })

  test('a sandbox whose process is killed is lost, for what runs and for what comes', async () => {
    const own = await createBubblewrapDriver({ folder }).boot(options)
    const running = own.exec('sleep 60')
    await own.exec('true')
    const outer = readdirSync('/proc').find(
      (name) => /^\d+$/.test(name) && readEnvironment(name).includes(`AGENTRL_SANDBOX_ID=${own.id}`),
    )
    await Promise.all([
      expect(running).rejects.toMatchObject({ code: 'sandbox_lost' }),
      Promise.resolve(process.kill(Number(outer), 'SIGKILL')),
    ])
    await expect(own.exec('true')).rejects.toMatchObject({ code: 'sandbox_lost' })
    await own[Symbol.asyncDispose]()
    expect(readdirSync(folder)).toEqual([sandbox.id])
  })

  test('a boot that fails names the reason and leaves nothing', async () => {
    const missing = createBubblewrapDriver({ folder, program: 'agentrl-no-bwrap' })
    const mounts = [{ hostPath: '/no/such/folder', path: '/x' }]
    await expect(missing.boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringContaining('agentrl-no-bwrap'),
    })
    await expect(createBubblewrapDriver({ folder }).boot({ ...options, mounts })).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
      message: expect.stringContaining('/no/such/folder'),
    })
    await expect(createBubblewrapDriver({ folder, program: '/bin/false' }).boot(options)).rejects.toMatchObject({
      code: 'sandbox_boot_failed',
    })
    expect(readdirSync(folder)).toEqual([sandbox.id])
  })

  test('a boot that hangs is ended in its time', async () => {
    const program = join(folder, 'hangs.sh')
    writeFileSync(program, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 })
    const hanging = createBubblewrapDriver({ folder, program, bootTimeoutMs: 100 }).boot(options)
    await expect(hanging).rejects.toMatchObject({ code: 'sandbox_boot_failed' })
    rmSync(program)
    expect(readdirSync(folder)).toEqual([sandbox.id])
  })
})

test('the init script closes descriptors of two digits that it was started with', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-init-'))
  writeFileSync(join(folder, 'init.sh'), initScript)
  const stdio = ['pipe', 'pipe', 'inherit', ...Array.from({ length: 15 }, () => 'pipe' as const)] as const
  const child = spawn('/bin/sh', [join(folder, 'init.sh')], { stdio: [...stdio] })
  try {
    const [said] = await once(child.stdout ?? child, 'data')
    expect(String(said)).toBe('up\n')
    const open = readdirSync(`/proc/${child.pid}/fd`).map(Number)
    // The shell's own are 10, its script, and 11, its output while it says "up"; what leaks would reach 17.
    expect(open.filter((descriptor) => descriptor > 11)).toEqual([])
  } finally {
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
})

function readEnvironment(processId: string): string {
  try {
    return readFileSync(`/proc/${processId}/environ`, 'utf8')
  } catch {
    return ''
  }
}
