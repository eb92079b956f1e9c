import assert from 'node:assert/strict'
import { SandboxError } from '@agentrl/spec'
import { execAndWait } from '../exec-and-wait.ts'
import type { Sandbox } from '../sandbox.ts'
import {
  type ConformanceCase,
  ending,
  needsProc,
  sandboxCase,
  settleProcesses,
  uniqueSleep,
} from './conformance-case.ts'

/** Commands that outlive the calls that look at them. */
export const longCases: readonly ConformanceCase[] = [
  sandboxCase('execAndWait gives output, input, environment and exit code as exec does', async ({ sandbox }) => {
    const outcome = await execAndWait(sandbox, 'cat; printf "$OURS"; pwd; echo err >&2; exit 7', {
      stdin: 'in ',
      env: { OURS: 'env ' },
      cwd: '/tmp',
    })
    assert.equal(ending(outcome), 'exited 7')
    assert.equal(outcome.stdout, `in env ${sandbox.path('/tmp')}\n`)
    assert.equal(outcome.stderr, 'err\n')
    const list = await execAndWait(sandbox, ['printf', '%s|', 'a b', "it's", ''])
    assert.equal(list.stdout, "a b|it's||")
  }),
  sandboxCase('execAndWait gives the command its variables, and keeps its own tools', async ({ sandbox }) => {
    const outcome = await execAndWait(sandbox, 'echo "$PATH $QUOTED"', { env: { PATH: '/none', QUOTED: "it's $x" } })
    assert.equal(outcome.stdout, "/none it's $x\n")
  }),
  sandboxCase('execAndWait runs a command text of 300 KiB', async ({ sandbox }) => {
    const outcome = await execAndWait(sandbox, `printf %s "${'x'.repeat(300 * 1024)}" | wc -c`)
    assert.equal(outcome.stdout.trim(), `${300 * 1024}`)
  }),
  sandboxCase('execAndWait ends the whole group at its budget', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    const outcome = await execAndWait(sandbox, `echo before; sleep ${seconds} & sleep ${seconds}`, { timeoutMs: 600 })
    assert.equal(ending(outcome), 'timed_out')
    assert.equal(outcome.stdout, 'before\n')
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
  }),
  sandboxCase('execAndWait kills what ignores SIGTERM', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    const command = `trap "" TERM; sleep ${seconds} & while :; do sleep 0.05; done`
    const outcome = await execAndWait(sandbox, command, { timeoutMs: 500, graceMs: 200 })
    assert.equal(ending(outcome), 'timed_out')
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
  }),
  sandboxCase('execAndWait ends when it is aborted', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    const controller = new AbortController()
    const running = execAndWait(sandbox, `sleep ${seconds}`, { signal: controller.signal })
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 1), 1)
    controller.abort('enough')
    assert.equal(ending(await running), 'cancelled')
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
  }),
  sandboxCase('execAndWait keeps the end of much output, or ends the command at the cap', async ({ sandbox }) => {
    const kept = await execAndWait(sandbox, 'head -c 3000000 /dev/zero; printf end', { maxOutputBytes: 5 })
    assert.equal(ending(kept), 'exited 0')
    assert.equal(kept.stdout, '\0\0end')
    assert.equal(kept.omittedBytes.stdout, 2_999_998)
    const ended = await execAndWait(sandbox, 'while :; do printf 0123456789; done', {
      maxOutputBytes: 15,
      overflow: 'end',
    })
    assert.equal(ending(ended), 'overflow')
    assert.equal(ended.stdout, '012345678901234')
  }),
  sandboxCase(
    'execAndWait survives calls that fail before, and calls that fail after they did their work',
    async ({ sandbox }) => {
      const outcome = await execAndWait(withCuts(sandbox), 'echo x >> ran; sleep 0.5; cat ran; echo done', {
        pollMs: 50,
      })
      assert.equal(ending(outcome), 'exited 0')
      assert.equal(outcome.stdout, 'x\ndone\n')
    },
  ),
  sandboxCase('execAndWait ends a command at its budget although calls are cut', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    const command = `trap "" TERM; sleep ${seconds} & wait; sleep ${seconds}`
    const outcome = await execAndWait(withCuts(sandbox), command, { timeoutMs: 500, graceMs: 100, pollMs: 50 })
    assert.equal(ending(outcome), 'timed_out')
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
  }),
  sandboxCase('execAndWait never runs a tag twice, also after the first run is over', async ({ sandbox }) => {
    await execAndWait(sandbox, 'echo x >> ran', { tag: 'late' })
    await assert.rejects(execAndWait(sandbox, 'echo x >> ran', { tag: 'late' }), { code: 'sandbox_exec_failed' })
    assert.equal(await sandbox.readText('ran'), 'x\n')
  }),
  sandboxCase('execAndWait leaves nothing behind but an empty mark', async ({ sandbox }) => {
    await execAndWait(sandbox, 'true', { tag: 'tidy' })
    assert.equal(await sandbox.exists('/tmp/.agentrl-tidy'), false)
    assert.equal(await sandbox.readText('/tmp/.agentrl-tidy.over'), '')
  }),
  sandboxCase('execAndWait takes a launch whose answer was lost for what it is', async ({ sandbox }) => {
    const first = execAndWait(sandbox, 'echo x >> ran; while [ ! -e go ]; do sleep 0.02; done', { tag: 'once' })
    await sandbox.exec('while [ ! -e ran ]; do sleep 0.02; done', { timeoutMs: 20_000 })
    const second = execAndWait(sandbox, 'echo x >> ran', { tag: 'once', pollMs: 50 })
    await sandbox.exec('sleep 0.3; cat ran; echo > go')
    const endings = await Promise.allSettled([first, second])
    assert.ok(endings.some(({ status }) => status === 'fulfilled'))
    assert.equal((await sandbox.exec('cat ran')).stdout, 'x\n')
  }),
]

/** A sandbox behind a gateway that cuts every second call: one in two of those before it is made, the others after. */
function withCuts(sandbox: Sandbox): Sandbox {
  let calls = 0
  const cut = (): SandboxError => new SandboxError('sandbox_exec_failed', 'the stream was cut', { isRetryable: true })
  const exec: Sandbox['exec'] = async (command, options) => {
    calls += 1
    if (calls % 4 === 1) throw cut()
    const outcome = await sandbox.exec(command, options)
    if (calls % 4 === 3) throw cut()
    return outcome
  }
  return new Proxy(sandbox, { get: (target, name) => (name === 'exec' ? exec : Reflect.get(target, name)) })
}
