import assert from 'node:assert/strict'
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ConformanceCase, sandboxCase } from './conformance-case.ts'

const outside = { code: 'sandbox_path_outside' }
const bytes = Buffer.from(Uint8Array.from({ length: 100_000 }, (_, index) => (index * 31) % 256))

/** Files in and out. */
export const fileCases: readonly ConformanceCase[] = [
  sandboxCase('a file comes back byte for byte', async ({ sandbox }) => {
    await sandbox.writeFile('/app/data', bytes)
    assert.ok(bytes.equals(await sandbox.readFile('/app/data')))
    await sandbox.writeFile('/app/text', 'zwölf\n')
    assert.equal(Buffer.from(await sandbox.readFile('text')).toString(), 'zwölf\n')
    await sandbox.writeFile('/app/empty', '')
    assert.equal((await sandbox.readFile('/app/empty')).length, 0)
  }),
  sandboxCase('a text comes back as one', async ({ sandbox }) => {
    await sandbox.writeFile('/app/text', Buffer.from('zw\u00f6lf \xff', 'latin1'))
    assert.equal(await sandbox.readText('/app/text'), 'zw\ufffdlf \ufffd')
    await sandbox.writeFile('/app/text', 'zwölf')
    assert.equal(await sandbox.readText('/app/text'), 'zwölf')
  }),
  sandboxCase('a stream is written, and read as one, byte for byte', async ({ sandbox }) => {
    async function* parts(): AsyncGenerator<Uint8Array> {
      for (let part = 0; part < 30; part += 1) yield bytes.subarray(part)
    }
    await sandbox.writeFile('/app/stream', parts())
    const found: Uint8Array[] = []
    for await (const chunk of sandbox.readStream('/app/stream')) found.push(chunk)
    assert.ok(Buffer.concat(Array.from({ length: 30 }, (_, part) => bytes.subarray(part))).equals(Buffer.concat(found)))
    await assert.rejects(sandbox.readStream('/app/none')[Symbol.asyncIterator]().next(), {
      code: 'sandbox_file_not_found',
    })
  }),
  sandboxCase(
    'a stream that fails fails its call, and one that says nothing more ends with it',
    async ({ sandbox }) => {
      async function* breaks(): AsyncGenerator<Uint8Array> {
        yield bytes
        throw new Error('the source broke')
      }
      await assert.rejects(sandbox.writeFile('/app/broken', breaks()), {
        code: 'sandbox_exec_failed',
        message: /the source broke/,
      })
      const controller = new AbortController()
      async function* stops(): AsyncGenerator<Uint8Array> {
        yield bytes
        controller.abort(new Error('no more'))
        await new Promise(() => {})
      }
      const { signal } = controller
      await assert.rejects(sandbox.writeFile('/app/stopped', stops(), { signal }), { message: 'no more' })
    },
  ),
  sandboxCase('leaving the loop over a file ends the reading', async ({ sandbox }) => {
    await sandbox.exec('head -c 20000000 /dev/zero > zeros', { check: true })
    let readBytes = 0
    for await (const chunk of sandbox.readStream('zeros')) {
      readBytes += chunk.length
      break
    }
    assert.ok(readBytes > 0 && readBytes < 20_000_000)
    const readers = await sandbox.exec('cat /proc/[0-9]*/cmdline 2> /dev/null | tr "\\0" "\\n" | grep -c "^cat$"')
    assert.equal(readers.stdout, '1\n')
  }),
  sandboxCase('a file of several megabytes comes back whole', async ({ sandbox }) => {
    const large = Buffer.concat(Array.from({ length: 60 }, () => bytes))
    await sandbox.writeFile('large', large)
    assert.ok(large.equals(await sandbox.readFile('large')))
  }),
  sandboxCase('writing makes the folders above, replaces what is there and sets the mode', async ({ sandbox }) => {
    await sandbox.writeFile('/deep/er/still/run.sh', 'a longer first text')
    await sandbox.writeFile('/deep/er/still/run.sh', '#!/bin/sh\necho ran\n', { mode: 0o755 })
    const outcome = await sandbox.exec([sandbox.path('/deep/er/still/run.sh')])
    assert.equal(outcome.stdout, 'ran\n')
  }),
  sandboxCase('commands find files where path says, and below $AGENTRL_SANDBOX_ROOT', async ({ sandbox }) => {
    await sandbox.writeFile('/tests/data', 'found')
    assert.equal((await sandbox.exec(['cat', sandbox.path('/tests/data')])).stdout, 'found')
    assert.equal((await sandbox.exec('cat "$AGENTRL_SANDBOX_ROOT/tests/data"')).stdout, 'found')
    assert.equal(sandbox.path('x/../y'), sandbox.path('/app/y'))
    assert.throws(() => sandbox.path('/../x'), outside)
  }),
  sandboxCase('what a command writes can be read', async ({ sandbox }) => {
    await sandbox.exec('mkdir -p "$AGENTRL_SANDBOX_ROOT/logs" && printf 1 > "$AGENTRL_SANDBOX_ROOT/logs/reward.txt"')
    assert.equal(Buffer.from(await sandbox.readFile('/logs/reward.txt')).toString(), '1')
  }),
  sandboxCase('names may hold spaces, quotes, line breaks, dashes and any letter', async ({ sandbox }) => {
    const names = ['a b', "it's", 'zwei\nZeilen', '-rf', '$HOME', 'ü–😀', '*', 'a"b', '.hidden', '...']
    await Promise.all(names.map((name) => sandbox.writeFile(`/app/names/${name}`, name)))
    assert.deepEqual(await Promise.all(names.map((name) => sandbox.readText(`/app/names/${name}`))), names)
    const found = await Promise.all(names.map((name) => sandbox.exists(`/app/names/${name}`)))
    assert.ok(found.every((isThere) => isThere))
  }),
  sandboxCase('a file that does not exist is not found', async ({ sandbox, hostFolder }) => {
    const notFound = { code: 'sandbox_file_not_found' }
    await assert.rejects(sandbox.readFile('/app/none'), notFound)
    await assert.rejects(sandbox.download('/app/none', join(hostFolder, 'none')), notFound)
  }),
  sandboxCase('exists tells files and folders from nothing', async ({ sandbox }) => {
    await sandbox.writeFile('/app/folder/file', '')
    const found = await Promise.all(
      ['/app/folder', '/app/folder/file', '/app/folder/none'].map((path) => sandbox.exists(path)),
    )
    assert.deepEqual(found, [true, true, false])
  }),
  sandboxCase('a folder is refused where a file is meant', async ({ sandbox }) => {
    await sandbox.writeFile('/app/folder/file', '')
    await assert.rejects(sandbox.readFile('/app/folder'), { code: 'sandbox_invalid_option' })
    await assert.rejects(sandbox.writeFile('/app/folder', 'x'), { code: /^sandbox_/ })
  }),
  sandboxCase(
    'a pipe where a file is meant is refused, and nobody waits for its other end',
    async ({ sandbox, hostFolder }) => {
      await sandbox.exec('mkfifo pipe', { check: true })
      await assert.rejects(sandbox.readFile('pipe'), { code: 'sandbox_invalid_option' })
      await assert.rejects(sandbox.writeFile('pipe', 'x'), { code: 'sandbox_invalid_option' })
      await assert.rejects(sandbox.download('pipe', join(hostFolder, 'pipe')), { code: 'sandbox_invalid_option' })
    },
  ),
  sandboxCase('what the file system refuses is an error of the sandbox', async ({ sandbox, hostFolder }) => {
    const refusal = { code: 'sandbox_exec_failed' }
    await sandbox.writeFile('/app/file', 'x')
    await writeFile(join(hostFolder, 'file'), 'x')
    await assert.rejects(sandbox.writeFile('/app/file/below', 'x'), refusal)
    await assert.rejects(sandbox.writeFile(`/app/${'n'.repeat(300)}`, 'x'), refusal)
    await assert.rejects(sandbox.upload(join(hostFolder, 'file'), '/app/file/below'), refusal)
    await assert.rejects(sandbox.download('/app/file', join(hostFolder, 'file', 'below')), refusal)
  }),
  sandboxCase('a file call with an aborted signal rejects with its reason', async ({ sandbox }) => {
    const signal = AbortSignal.abort(new Error('no more'))
    await assert.rejects(sandbox.writeFile('/app/data', 'x', { signal }), { message: 'no more' })
    await assert.rejects(sandbox.readFile('/app/data', { signal }), { message: 'no more' })
    assert.equal(await sandbox.exists('/app/data'), false)
  }),
  sandboxCase('a file over maxBytes is refused', async ({ sandbox }) => {
    await sandbox.writeFile('/app/data', '12345')
    await assert.rejects(sandbox.readFile('/app/data', { maxBytes: 4 }), { code: 'sandbox_invalid_option' })
    assert.equal((await sandbox.readFile('/app/data', { maxBytes: 5 })).length, 5)
  }),
  sandboxCase(
    'a path that climbs above the root, or holds a NUL, is refused by every call',
    async ({ sandbox, hostFolder }) => {
      const hostFile = join(hostFolder, 'file')
      await writeFile(hostFile, 'x')
      for (const path of ['/../etc/passwd', '../../x', '/a/../../x', 'a\0b']) {
        await assert.rejects(sandbox.readFile(path), outside)
        await assert.rejects(sandbox.writeFile(path, 'x'), outside)
        await assert.rejects(sandbox.exists(path), outside)
        await assert.rejects(sandbox.upload(hostFile, path), outside)
        await assert.rejects(sandbox.download(path, hostFile), outside)
        await assert.rejects(sandbox.exec('true', { cwd: path }), outside)
      }
    },
  ),
  sandboxCase(
    'a link to a file of the host gives nothing of it and changes nothing in it',
    async ({ sandbox, hostFolder }) => {
      const secret = join(hostFolder, 'secret')
      await writeFile(secret, 'of the host')
      await mkdir(join(hostFolder, 'changes'))
      await writeFile(join(hostFolder, 'changes', 'secret'), 'changed')
      await sandbox.exec(['ln', '-s', secret, 'link'], { check: true })
      await sandbox.exec(['ln', '-s', hostFolder, 'folder'], { check: true })
      await sandbox.exec(['ln', '-s', `/proc/self/root${secret}`, 'magic'], { check: true })
      await sandbox.exec(['ln', '-s', `/proc/self/cwd/../../../../../../..${secret}`, 'climbing'], { check: true })
      const paths = ['link', 'folder/secret', 'magic', 'climbing']
      const attack = async (path: string): Promise<void> => {
        await assert.rejects(sandbox.readFile(path), { code: /^sandbox_(path_outside|file_not_found)$/ })
        await sandbox.writeFile(path, 'changed').catch(() => {})
        await sandbox.upload(join(hostFolder, 'changes', 'secret'), path).catch(() => {})
        await sandbox.download(path, join(hostFolder, 'copy')).catch(() => {})
      }
      await Promise.all(paths.map(attack))
      await sandbox.upload(join(hostFolder, 'changes'), 'folder').catch(() => {})
      // A second name of the same file, where the sandbox can see it at all.
      await sandbox.exec(['ln', secret, 'second-name'])
      await sandbox.writeFile('second-name', 'changed')
      assert.equal(await readFile(secret, 'utf8'), 'of the host')
      await assert.rejects(readFile(join(hostFolder, 'copy')), { code: 'ENOENT' })
    },
  ),
  sandboxCase('upload copies a file with its mode', async ({ sandbox, hostFolder }) => {
    await writeFile(join(hostFolder, 'run.sh'), '#!/bin/sh\necho ran\n', { mode: 0o755 })
    await sandbox.upload(join(hostFolder, 'run.sh'), '/tests/run.sh')
    assert.equal((await sandbox.exec([sandbox.path('/tests/run.sh')])).stdout, 'ran\n')
  }),
  sandboxCase('upload copies what a folder holds, links and modes included', async ({ sandbox, hostFolder }) => {
    await mkdir(join(hostFolder, 'task/sub'), { recursive: true })
    await writeFile(join(hostFolder, 'task/sub/data'), bytes)
    await writeFile(join(hostFolder, 'task/run.sh'), '#!/bin/sh\necho ran\n', { mode: 0o755 })
    await symlink('sub/data', join(hostFolder, 'task/link'))
    await sandbox.upload(join(hostFolder, 'task'), '/tests')
    assert.ok(bytes.equals(await sandbox.readFile('/tests/sub/data')))
    assert.equal((await sandbox.exec(['readlink', sandbox.path('/tests/link')])).stdout, 'sub/data\n')
    assert.equal((await sandbox.exec([sandbox.path('/tests/run.sh')])).stdout, 'ran\n')
  }),
  sandboxCase('upload of what is not there fails and says so', async ({ sandbox, hostFolder }) => {
    await assert.rejects(sandbox.upload(join(hostFolder, 'none'), '/app/none'), {
      code: 'sandbox_file_not_found',
      message: /none/,
    })
  }),
  sandboxCase('download copies a file', async ({ sandbox, hostFolder }) => {
    await sandbox.writeFile('/app/data', bytes)
    await sandbox.download('/app/data', join(hostFolder, 'new/data'))
    assert.ok(bytes.equals(await readFile(join(hostFolder, 'new/data'))))
  }),
  sandboxCase('download copies what a folder holds', async ({ sandbox, hostFolder }) => {
    await sandbox.writeFile('/logs/sub/data', bytes)
    await sandbox.writeFile('/logs/run.sh', 'x', { mode: 0o755 })
    await sandbox.download('/logs', join(hostFolder, 'logs'))
    assert.ok(bytes.equals(await readFile(join(hostFolder, 'logs/sub/data'))))
    assert.equal((await stat(join(hostFolder, 'logs/run.sh'))).mode & 0o111, 0o111)
  }),
  sandboxCase('more than maxBytes is not downloaded, however it is laid out', async ({ sandbox, hostFolder }) => {
    await sandbox.exec('mkdir -p logs && truncate -s 3000000 logs/sparse && printf 12345 > small', { check: true })
    const refusal = { code: 'sandbox_invalid_option', message: /more than 1000000 bytes/ }
    const maxBytes = 1_000_000
    await assert.rejects(sandbox.download('logs/sparse', join(hostFolder, 'file'), { maxBytes }), refusal)
    await assert.rejects(sandbox.download('logs', join(hostFolder, 'folder'), { maxBytes }), refusal)
    await sandbox.download('small', join(hostFolder, 'small'), { maxBytes: 5 })
    assert.equal(await readFile(join(hostFolder, 'small'), 'utf8'), '12345')
  }),
  sandboxCase('a folder with a pipe in it is not downloaded', async ({ sandbox, hostFolder }) => {
    await sandbox.exec('mkdir -p logs && mkfifo logs/pipe', { check: true })
    await assert.rejects(sandbox.download('logs', join(hostFolder, 'logs')), { code: 'sandbox_invalid_option' })
  }),
  sandboxCase('a user that does not exist is refused by every call', async ({ sandbox, hostFolder }) => {
    const user = { user: 'agentrl-nobody' }
    await writeFile(join(hostFolder, 'file'), 'x')
    await sandbox.writeFile('/app/file', 'x')
    const refusal = { code: 'sandbox_invalid_option' }
    await assert.rejects(sandbox.writeFile('/app/other', 'x', user), refusal)
    await assert.rejects(sandbox.readFile('/app/file', user), refusal)
    await assert.rejects(sandbox.exists('/app/file', user), refusal)
    await assert.rejects(sandbox.upload(join(hostFolder, 'file'), '/app/other', user), refusal)
    await assert.rejects(sandbox.download('/app/file', join(hostFolder, 'other'), user), refusal)
  }),
]
