import assert from 'node:assert/strict'
import {
  type ConformanceCase,
  ending,
  needsProc,
  sandboxCase,
  settleProcesses,
  uniqueSleep,
} from './conformance-case.ts'

const allBytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)

/** What commands do, and what is done to them. */
export const execCases: readonly ConformanceCase[] = [
  sandboxCase('a command that exits with 0 gives its output, stdout and stderr apart', async ({ sandbox }) => {
    const outcome = await sandbox.exec('echo out; echo err >&2')
    assert.equal(ending(outcome), 'exited 0')
    assert.equal(outcome.stdout, 'out\n')
    assert.equal(outcome.stderr, 'err\n')
    assert.deepEqual(outcome.omittedBytes, { stdout: 0, stderr: 0 })
  }),
  sandboxCase('a failed command is a result', async ({ sandbox }) => {
    assert.equal(ending(await sandbox.exec('exit 3')), 'exited 3')
  }),
  sandboxCase('the arguments of a list reach the program as they are', async ({ sandbox }) => {
    const words = ['a b', '', "it's", '"', '$HOME', '`id`', '*', '\\', 'zwei\nZeilen', '-n', 'ü–€–😀', ';', '&', 'A=B']
    const outcome = await sandbox.exec(['sh', '-c', 'for word; do printf "%s\\0" "$word"; done', 'sh', ...words])
    assert.deepEqual(outcome.stdout.split('\0').slice(0, -1), words)
  }),
  sandboxCase('a program that does not exist exits with 127', async ({ sandbox }) => {
    assert.equal(ending(await sandbox.exec(['agentrl-no-such-program', 'x'])), 'exited 127')
  }),
  sandboxCase('a file that is not executable exits with 126', async ({ sandbox }) => {
    await sandbox.writeFile('/app/data', 'x', { mode: 0o644 })
    assert.equal(ending(await sandbox.exec([sandbox.path('/app/data')])), 'exited 126')
  }),
  sandboxCase('a death by signal n exits with 128 + n', async ({ sandbox }) => {
    assert.equal(ending(await sandbox.exec('kill -9 $$')), 'exited 137')
  }),
  sandboxCase(
    'a variable of the command hides the one of the sandbox',
    async ({ sandbox }) => {
      const env = { OURS: 'command', QUOTED: 'a "b" \'c\'\n$d' }
      const outcome = await sandbox.exec('printf "%s|%s|%s" "$OURS" "$THEIRS" "$QUOTED"', { env })
      assert.equal(outcome.stdout, 'command|sandbox|a "b" \'c\'\n$d')
    },
    { boot: { env: { OURS: 'sandbox', THEIRS: 'sandbox' } } },
  ),
  sandboxCase('nothing of the host environment is seen', async ({ sandbox }) => {
    process.env.AGENTRL_CONFORMANCE_SECRET = 'of the host'
    try {
      const outcome = await sandbox.exec('env; cat /proc/self/environ')
      assert.doesNotMatch(outcome.stdout, /AGENTRL_CONFORMANCE_SECRET/)
    } finally {
      delete process.env.AGENTRL_CONFORMANCE_SECRET
    }
  }),
  sandboxCase('HOME, TMPDIR and the working folder exist and can be written', async ({ sandbox }) => {
    const outcome = await sandbox.exec(
      'for folder in "$HOME" "$TMPDIR" .; do echo x > "$folder/probe" || exit 1; done; pwd',
    )
    assert.equal(ending(outcome), 'exited 0', outcome.stderr)
    assert.equal(outcome.stdout, `${sandbox.path('/app')}\n`)
  }),
  sandboxCase('cwd is absolute or taken from the working folder', async ({ sandbox }) => {
    await sandbox.exec('mkdir -p deep/er')
    const relative = await sandbox.exec('pwd', { cwd: 'deep/er' })
    const absolute = await sandbox.exec('pwd', { cwd: '/tmp' })
    assert.equal(relative.stdout, `${sandbox.path('/app/deep/er')}\n`)
    assert.equal(absolute.stdout, `${sandbox.path('/tmp')}\n`)
  }),
  sandboxCase('a working folder that does not exist is refused', async ({ sandbox }) => {
    await assert.rejects(sandbox.exec('true', { cwd: '/no/such' }), { code: 'sandbox_invalid_option' })
  }),
  sandboxCase('stdin reaches the command byte for byte, and ends', async ({ sandbox }) => {
    const bytes = Buffer.concat(Array.from({ length: 1_200 }, () => allBytes))
    const outcome = await sandbox.exec(['cat'], { stdin: bytes })
    assert.ok(bytes.equals(outcome.raw.stdout))
    const text = await sandbox.exec('wc -c', { stdin: 'zwölf' })
    assert.equal(text.stdout.trim(), '6')
  }),
  sandboxCase('without stdin the input is empty', async ({ sandbox }) => {
    assert.equal((await sandbox.exec('cat; echo end', { timeoutMs: 20_000 })).stdout, 'end\n')
  }),
  sandboxCase('a command that does not read its stdin is no error', async ({ sandbox }) => {
    assert.equal(ending(await sandbox.exec('exit 0', { stdin: new Uint8Array(2_000_000) })), 'exited 0')
  }),
  sandboxCase('binary output stays as it is', async ({ sandbox }) => {
    const outcome = await sandbox.exec('cat; cat /app/none', { stdin: allBytes })
    assert.ok(Buffer.from(allBytes).equals(outcome.raw.stdout))
    assert.ok(outcome.stdout.includes('\ufffd'))
  }),
  sandboxCase('much output on both streams at once blocks nothing', async ({ sandbox }) => {
    const outcome = await sandbox.exec('head -c 1000000 /dev/zero >&2 & head -c 1000000 /dev/zero; wait')
    assert.equal(outcome.raw.stdout.length, 1_000_000)
    assert.equal(outcome.raw.stderr.length, 1_000_000)
  }),
  sandboxCase('/dev/stdout and /dev/stderr can be opened', async ({ sandbox }) => {
    const outcome = await sandbox.exec('echo out > /dev/stdout; echo err > /dev/stderr')
    assert.deepEqual([outcome.stdout, outcome.stderr], ['out\n', 'err\n'])
  }),
  sandboxCase('output up to the cap is no overflow', async ({ sandbox }) => {
    const outcome = await sandbox.exec('printf 12345678', { maxOutputBytes: 8 })
    assert.equal(ending(outcome), 'exited 0')
    assert.equal(outcome.stdout, '12345678')
  }),
  sandboxCase('output beyond the cap ends the command, and the first bytes are kept', async ({ sandbox }) => {
    const outcome = await sandbox.exec('while :; do printf 0123456789; done', { maxOutputBytes: 25 })
    assert.equal(ending(outcome), 'overflow')
    assert.equal(outcome.stdout, '0123456789012345678901234')
    assert.ok(outcome.omittedBytes.stdout > 0)
  }),
  sandboxCase('a short output beyond the cap is an overflow as well', async ({ sandbox }) => {
    assert.equal(ending(await sandbox.exec('printf 123456789', { maxOutputBytes: 8 })), 'overflow')
  }),
  sandboxCase('with keep-tail the command runs on, and the last bytes are kept', async ({ sandbox }) => {
    const command = 'head -c 3000000 /dev/zero; printf end; exit 5'
    const outcome = await sandbox.exec(command, { maxOutputBytes: 10, overflow: 'keep-tail' })
    assert.equal(ending(outcome), 'exited 5')
    assert.equal(outcome.stdout, '\0\0\0\0\0\0\0end')
    assert.equal(outcome.omittedBytes.stdout, 2_999_993)
  }),
  sandboxCase('a gigabyte of output is bounded and reported', async ({ sandbox }) => {
    const before = process.memoryUsage().rss
    const outcome = await sandbox.exec('head -c 1000000000 /dev/zero', {
      maxOutputBytes: 1_000_000,
      timeoutMs: 120_000,
    })
    assert.equal(ending(outcome), 'overflow')
    assert.equal(outcome.raw.stdout.length, 1_000_000)
    assert.ok(process.memoryUsage().rss - before < 400_000_000)
  }),
  sandboxCase('a command out of time is ended with all that it started', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    const outcome = await sandbox.exec(`echo before; sleep ${seconds} & sleep ${seconds}`, { timeoutMs: 400 })
    assert.equal(ending(outcome), 'timed_out')
    assert.equal(outcome.stdout, 'before\n')
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
  }),
  sandboxCase('a command that ignores SIGTERM is killed after the grace period', async ({ sandbox }) => {
    const command = 'trap "" TERM; while :; do sleep 0.05; done'
    const outcome = await sandbox.exec(command, { timeoutMs: 300, graceMs: 200 })
    assert.equal(ending(outcome), 'timed_out')
    assert.ok(outcome.durationMs >= 500, `${outcome.durationMs} ms`)
  }),
  sandboxCase('within the grace period a command may tidy up', async ({ sandbox }) => {
    const command = 'trap "echo tidied > tidied; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
    const outcome = await sandbox.exec(command, { timeoutMs: 500, graceMs: 10_000 })
    assert.equal(ending(outcome), 'timed_out')
    assert.ok(await sandbox.exists('tidied'))
  }),
  sandboxCase('an abort ends the command and is a result with its reason', async ({ sandbox, setup }) => {
    const seconds = uniqueSleep()
    const controller = new AbortController()
    const running = sandbox.exec(`sleep ${seconds}`, { signal: controller.signal })
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 1), 1)
    controller.abort('enough')
    const outcome = await running
    assert.equal(ending(outcome), 'cancelled')
    assert.equal(outcome.kind === 'cancelled' && outcome.reason, 'enough')
    if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
  }),
  sandboxCase('with a signal that is aborted already nothing is run', async ({ sandbox }) => {
    const outcome = await sandbox.exec('echo x > ran', { signal: AbortSignal.abort('before') })
    assert.equal(ending(outcome), 'cancelled')
    assert.equal(await sandbox.exists('ran'), false)
  }),
  sandboxCase('check passes a success on and throws for everything else', async ({ sandbox }) => {
    assert.equal(ending(await sandbox.exec('true', { check: true })), 'exited 0')
    const failure = { code: 'sandbox_exec_failed' }
    await assert.rejects(sandbox.exec('echo why >&2; exit 9', { check: true }), {
      ...failure,
      message: /exited with 9.*why/s,
    })
    await assert.rejects(sandbox.exec('sleep 60', { check: true, timeoutMs: 200 }), failure)
  }),
  sandboxCase('a child in the background does not hold its command up', async ({ sandbox }) => {
    const outcome = await sandbox.exec('sleep 30 & echo started', { timeoutMs: 20_000 })
    assert.equal(ending(outcome), 'exited 0')
    assert.equal(outcome.stdout, 'started\n')
  }),
  sandboxCase('a child in the background that writes without end does not either', async ({ sandbox }) => {
    const chatter = 'while :; do echo more; done & while :; do echo more; sleep 0.01; done & echo started'
    const outcome = await sandbox.exec(chatter, { timeoutMs: 20_000, maxOutputBytes: 1_000, overflow: 'keep-tail' })
    assert.equal(ending(outcome), 'exited 0')
  }),
  sandboxCase('a child in the background lives on for the next command, and may still write', async ({ sandbox }) => {
    await sandbox.exec('(while [ ! -e go ]; do sleep 0.02; done; echo loud; echo done > done) &')
    await sandbox.writeFile('go', '')
    const waited = await sandbox.exec('while [ ! -e done ]; do sleep 0.02; done', { timeoutMs: 20_000 })
    assert.equal(ending(waited), 'exited 0')
  }),
  sandboxCase('a command text of 300 KiB is run', async ({ sandbox }) => {
    const outcome = await sandbox.exec(`printf %s "${'x'.repeat(300 * 1024)}" | wc -c`)
    assert.equal(outcome.stdout.trim(), `${300 * 1024}`)
  }),
  sandboxCase('what a command planted is neither run nor written through by a later one', async ({ sandbox }) => {
    await sandbox.writeFile('/app/target', 'untouched')
    const plant = `target=$(pwd)/target; cd "$AGENTRL_SANDBOX_ROOT/tmp" && mkdir -p .agentrl && for n in 1 2 3 4 5 6 7 8 9; do
      ln -s "$target" ".agentrl-command-$n.sh"; mkdir -p ".agentrl/$n/lock"
      echo 0 > ".agentrl/$n/status"; echo planted > ".agentrl/$n/stdout"; done`
    assert.equal(ending(await sandbox.exec(plant)), 'exited 0')
    for (let count = 0; count < 4; count += 1) {
      const outcome = await sandbox.exec(`echo real # ${'x'.repeat(130 * 1024)}`)
      assert.equal(outcome.stdout, 'real\n')
    }
    assert.equal(await sandbox.readText('/app/target'), 'untouched')
  }),
  sandboxCase('twenty thousand small writes come whole', async ({ sandbox }) => {
    const { stdout } = await sandbox.exec('i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done')
    assert.equal(stdout, Array.from({ length: 20_000 }, (_, number) => `${number}\n`).join(''))
  }),
  sandboxCase(
    'a command that closes its streams and goes on is still ended at its time',
    async ({ sandbox, setup }) => {
      const seconds = uniqueSleep()
      const outcome = await sandbox.exec(`exec 0<&- 1>&- 2>&-; sleep ${seconds} & wait`, { timeoutMs: 400 })
      assert.equal(ending(outcome), 'timed_out')
      if (needsProc(setup) === undefined) assert.equal(await settleProcesses(seconds, 0), 0)
    },
  ),
  sandboxCase('an argument or variable over 120 KiB is refused with the limit', async ({ sandbox }) => {
    const long = 'x'.repeat(120 * 1024 + 1)
    const refusal = { code: 'sandbox_invalid_option', message: /122880/ }
    await assert.rejects(sandbox.exec(['printf', long]), refusal)
    await assert.rejects(sandbox.exec('true', { env: { LONG: long } }), refusal)
    assert.equal((await sandbox.exec(['printf', '%s', long.slice(1)])).stdout.length, 120 * 1024)
  }),
  sandboxCase('NUL and names that no variable can have are refused', async ({ sandbox }) => {
    const refusal = { code: 'sandbox_invalid_option' }
    await assert.rejects(sandbox.exec('echo a\0b'), refusal)
    await assert.rejects(sandbox.exec(['echo', 'a\0b']), refusal)
    await assert.rejects(sandbox.exec('true', { env: { A: 'a\0b' } }), refusal)
    for (const name of ['', '1A', 'A-B', 'A=B', 'A B', 'Ä']) {
      await assert.rejects(sandbox.exec('true', { env: { [name]: 'x' } }), refusal)
    }
  }),
  sandboxCase('a user that does not exist is refused', async ({ sandbox }) => {
    await assert.rejects(sandbox.exec('true', { user: 'agentrl-nobody' }), { code: 'sandbox_invalid_option' })
    await assert.rejects(sandbox.exec('true', { user: 'a:b' }), { code: 'sandbox_invalid_option' })
  }),
  sandboxCase('limits that are none are refused', async ({ sandbox }) => {
    for (const options of [{ timeoutMs: 0 }, { timeoutMs: 1.5 }, { maxOutputBytes: -1 }, { graceMs: Number.NaN }]) {
      await assert.rejects(sandbox.exec('true', options), { code: 'sandbox_invalid_option' })
    }
  }),
  sandboxCase('twenty commands at once keep their output apart', async ({ sandbox }) => {
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const outcomes = await Promise.all(
      numbers.map((number) => sandbox.exec(`cat; echo ${number}; exit ${number}`, { stdin: `${number} ` })),
    )
    assert.deepEqual(
      outcomes.map(ending),
      numbers.map((number) => `exited ${number}`),
    )
    assert.deepEqual(
      outcomes.map(({ stdout }) => stdout),
      numbers.map((number) => `${number} ${number}\n`),
    )
  }),
  sandboxCase('output is heard before the command is over', async ({ sandbox }) => {
    const heard: string[] = []
    const outcome = await sandbox.exec('echo first; while [ ! -e go ]; do sleep 0.02; done; echo second >&2', {
      timeoutMs: 20_000,
      onOutput(stream, chunk) {
        heard.push(`${stream} ${Buffer.from(chunk)}`)
        if (stream === 'stdout') sandbox.writeFile('go', '').catch(() => {})
      },
    })
    assert.equal(ending(outcome), 'exited 0')
    assert.deepEqual(heard, ['stdout first\n', 'stderr second\n'])
  }),
  sandboxCase('output that comes slowly comes whole', async ({ sandbox }) => {
    const outcome = await sandbox.exec('for part in 1 2 3; do printf $part; sleep 0.1; done')
    assert.equal(outcome.stdout, '123')
  }),
]
