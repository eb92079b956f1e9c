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

  test('no setting of the kernel can be opened for writing, nor from a user namespace of a command', async () => {
    // Opened only: writing would change this machine. The processes' own files are theirs.
    const probe = `find /proc -type f -not -path '/proc/[0-9]*' -not -path '/proc/*self/*' 2> /dev/null |
      while read -r file; do (: >> "$file") 2> /dev/null && echo "$file"; done; true`
    expect(await run(probe)).toBe('')
    const nested =
      await run(`unshare -Urmpf sh -c 'mount -t proc proc /proc && (: >> /proc/sys/kernel/core_pattern) && echo opened;
      umount /proc/sys && echo uncovered; mount -o remount,bind,rw /proc/sys && echo writable;
      mount -o remount,bind,rw /usr && echo writable' 2> /dev/null`)
    expect(nested).toBe('')
  })

  test('what floods its process space with sessions of their own ends with its sandbox', async () => {
    const own = await createBubblewrapDriver({ folder }).boot(options)
    const breed =
      'breed() { [ "$1" -eq 0 ] && exec sleep 86399; setsid sh breed.sh "$(($1 - 1))" & setsid sh breed.sh "$(($1 - 1))" & wait; }; breed "$1"'
    await own.writeFile('breed.sh', breed)
    const outcome = await own.exec('sh breed.sh 6 > /dev/null 2>&1', { timeoutMs: 300, graceMs: 0 })
    expect(outcome.kind).toBe('timed_out')
    expect(Number((await own.exec('ls -d /proc/[0-9]* | wc -l')).stdout)).toBeGreaterThan(50)
    await own[Symbol.asyncDispose]()
    expect(
      readdirSync('/proc').filter((name) => readEnvironment(name).includes(`AGENTRL_SANDBOX_ID=${own.id}`)),
    ).toEqual([])
  })

  test('fifty boots at once, half of them given up on the way, leave what was kept and nothing else', async () => {
    const own = createBubblewrapDriver({ folder: join(folder, 'many') })
    const booting = Array.from({ length: 50 }, (_, number) =>
      own.boot({ ...options, ...(number % 2 === 0 ? {} : { signal: AbortSignal.timeout(number * 4) }) }),
    )
    const settled = await Promise.allSettled(booting)
    const booted = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(booted.length).toBeGreaterThanOrEqual(25)
    expect(readdirSync(join(folder, 'many')).toSorted()).toEqual(booted.map(({ id }) => id).toSorted())
    await Promise.all(booted.map((one) => one[Symbol.asyncDispose]()))
    expect(readdirSync(join(folder, 'many'))).toEqual([])
    rmSync(join(folder, 'many'), { recursive: true })
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

test('the init script starts no other shell when it was started with no descriptor too many', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-init-'))
  writeFileSync(join(folder, 'init.sh'), initScript)
  const closeOthers =
    'for fd in /proc/self/fd/*; do [ "${fd##*/}" -lt 3 ] || eval "exec ${fd##*/}>&-"; done 2> /dev/null'
  const script = `${closeOthers}; exec /bin/sh "$0"`
  const child = spawn('bash', ['-c', script, join(folder, 'init.sh')], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    await once(child.stdout, 'data')
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).not.toContain('cleaned')
  } finally {
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
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
