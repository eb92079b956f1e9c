import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'

const scripts = dirname(fileURLToPath(import.meta.url))

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentrl-ci-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

function run(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  return new Promise<{ code: number; output: string; lastLine: string }>((done) => {
    const options = { cwd, env: { PATH: process.env.PATH, HOME: cwd, ...env } }
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 0
      done({ code, output: stdout + stderr, lastLine: stdout.trimEnd().split('\n').at(-1) ?? '' })
    })
  })
}

/** Runs lanes in a repository whose npm is a bash script of the test. */
async function runLanes(lanes: readonly string[], npm: string) {
  const root = await temporaryFolder()
  await cp(scripts, join(root, 'scripts'), { recursive: true })
  await mkdir(join(root, 'bin'))
  await writeFile(join(root, 'bin/npm'), `#!/bin/bash\n${npm}\n`, { mode: 0o755 })
  return run(process.execPath, [join(root, 'scripts/ci.mjs'), ...lanes], root, {
    PATH: `${join(root, 'bin')}:${process.env.PATH}`,
  })
}
const writeCounts = (counts: string): string => `echo '${counts}' > "$AGENTRL_COUNTS_FILE"`

describe('the lanes', () => {
  test.each([
    [
      'the counts of a test run are added',
      '{"passed": 3, "failed": 0, "skipped": 1}',
      0,
      0,
      '3 passed, 0 failed, 1 skipped',
    ],
    ['a failed test fails the lane', '{"passed": 3, "failed": 2, "skipped": 0}', 1, 1, '3 passed, 2 failed, 0 skipped'],
    [
      'a run that fails beside its tests is a failure',
      '{"passed": 3, "failed": 0, "skipped": 0}',
      4,
      1,
      '3 passed, 1 failed, 0 skipped',
    ],
    [
      'a run without a test is a failure',
      '{"passed": 0, "failed": 0, "skipped": 9}',
      0,
      1,
      '0 passed, 1 failed, 9 skipped',
    ],
    ['counts that no one can read are a failure', '{', 0, 1, '0 passed, 1 failed, 0 skipped'],
  ])('%s', async (_, counts, npmCode, code, lastLine) => {
    expect(await runLanes(['system'], `${writeCounts(counts)}; exit ${npmCode}`)).toMatchObject({ code, lastLine })
  })

  test('a run that wrote no counts is a failure', async () => {
    expect(await runLanes(['system'], 'exit 0')).toMatchObject({ code: 1, lastLine: '0 passed, 1 failed, 0 skipped' })
  })

  test('a check that fails does not stop the others, and each counts as one', async () => {
    const { code, output, lastLine } = await runLanes(['fast'], writeCounts('{"passed": 5, "failed": 0, "skipped": 0}'))
    expect(code).toBe(1)
    expect(lastLine).toBe('5 passed, 6 failed, 0 skipped')
    expect(output).toMatch(/^fast: \d+ s, failed: lint, types, boundaries, knip, lockfile, file sizes$/m)
  })

  test('a lane that does not exist is told', async () => {
    expect(await runLanes(['quick'], '')).toMatchObject({
      code: 2,
      output: 'ci: expected lanes out of fast, pack, system; found quick\n',
    })
  })
})

async function inRepository(files: Readonly<Record<string, string>>, script: string) {
  const root = await temporaryFolder()
  await run('git', ['init', '--quiet'], root)
  for (const [path, text] of Object.entries(files)) await writeFile(join(root, path), text)
  await run('git', ['add', '.'], root)
  return run(process.execPath, [join(scripts, script)], root)
}

describe('the lockfile', () => {
  test('may hold addresses only in the text of a deprecation', async () => {
    const files = {
      'pnpm-lock.yaml': 'a:\n  deprecated: see https://example.org\n  resolution: {integrity: sha512-x}\n',
    }
    expect(await inRepository(files, 'check-lockfile.mjs')).toMatchObject({
      code: 0,
      output: '1 lockfile(s), 0 address(es)\n',
    })
  })

  test.each(['https://example.org/a.tgz', 'git+ssh://git@example.org/a.git'])(
    'that names %s is refused',
    async (address) => {
      const files = { 'pnpm-lock.yaml': `a:\n  resolution: {tarball: ${address}}\n` }
      const { code, output } = await inRepository(files, 'check-lockfile.mjs')
      expect(code).toBe(1)
      expect(output).toContain('pnpm-lock.yaml:2 holds an address')
    },
  )

  test('has to be there', async () => {
    expect((await inRepository({ 'a.txt': '' }, 'check-lockfile.mjs')).code).toBe(1)
  })
})

describe('file sizes', () => {
  test('sources over 300 lines are named, those over 600 refused, tests and fixtures free', async () => {
    const lines = (count: number): string => 'x\n'.repeat(count)
    const files = { 'a.ts': lines(300), 'b.ts': lines(301), 'c.ts': lines(601), 'd.test.ts': lines(900) }
    expect(await inRepository(files, 'check-file-sizes.mjs')).toMatchObject({
      code: 1,
      output:
        'look: b.ts has 301 lines\n4 files, 1 too large\nc.ts has 601 lines; the limit is 600: split it by subject\n',
    })
  })

  test('a tracked file over 2 MiB is refused', async () => {
    const { code, output } = await inRepository({ 'data.bin': 'x'.repeat(2 * 1024 * 1024 + 1) }, 'check-file-sizes.mjs')
    expect(code).toBe(1)
    expect(output).toContain('data.bin is 2097153 bytes; the limit is 2097152')
  })
})
