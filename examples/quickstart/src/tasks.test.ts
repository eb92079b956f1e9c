import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { convertHarborTask, type PromptRow, readHarborReward, readHarborTask } from '@agentrl/harbor'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const tasks = fileURLToPath(new URL('../tasks', import.meta.url))
const names = ['fix-slug', 'print-lines', 'repair-config', 'rotate-backups']

async function rowOf(name: string): Promise<PromptRow> {
  return convertHarborTask(await readHarborTask(join(tasks, name)))
}

/** Puts a task's project where its Dockerfile would, in a temporary folder, and gives the script environment. */
async function layOut(name: string) {
  const root = await mkdtemp(join(tmpdir(), 'agentrl quickstart '))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const { replay } = (await rowOf(name)).metadata.harbor
  await mkdir(join(root, 'app'))
  for (const { source, target } of replay?.copies ?? []) {
    await cp(join(replay?.context ?? '', source), join(root, target), { recursive: true })
  }
  return {
    app: join(root, 'app'),
    env: {
      PATH: process.env.PATH,
      AGENTRL_APP_DIR: join(root, 'app'),
      AGENTRL_TESTS_DIR: join(tasks, name, 'tests'),
      AGENTRL_LOGS_DIR: join(root, 'logs'),
    },
  }
}
type Layout = Awaited<ReturnType<typeof layOut>>

async function grade({ app, env }: Layout) {
  await run(join(env.AGENTRL_TESTS_DIR, 'test.sh'), { cwd: app, env })
  const text = await readFile(join(env.AGENTRL_LOGS_DIR, 'verifier', 'reward.txt'), 'utf8')
  return readHarborReward({ json: null, text })
}

async function solve(name: string, { env }: Layout): Promise<void> {
  await run('bash', [join(tasks, name, 'solution', 'solve.sh')], { cwd: '/', env })
}

/** How many of the project's own tests pass and fail. */
async function ownTests({ app, env }: Layout): Promise<string[]> {
  const options = { cwd: app, env: { PATH: env.PATH } }
  const { stdout } = await run('node', ['--test', '--test-reporter=tap'], options).catch((failure) => failure)
  return String(stdout).match(/^# (pass|fail) \d+/gm) ?? []
}

test('the folder holds these tasks and no others', async () => {
  expect((await readdir(tasks)).sort()).toEqual(names)
})

test.each(names)('%s: the unchanged project gets 0, the solved one 1', async (name) => {
  const layout = await layOut(name)
  expect(await grade(layout)).toMatchObject({ kind: 'graded', reward: 0 })
  await solve(name, layout)
  expect(await grade(layout)).toMatchObject({ kind: 'graded', reward: 1 })
})

test.each(names)('%s: needs no network and no build', async (name) => {
  const { metadata } = await rowOf(name)
  expect(metadata).toMatchObject({
    instance_id: `agentrl-quickstart/${name}`,
    workdir: '/app',
    harbor: {
      schema_version: '1.4',
      agent_network: { mode: 'no-network' },
      verifier_network: { mode: 'no-network' },
      replay: { base_image: 'node:20-bookworm-slim', copies: [{ source: 'project/', target: '/app/' }] },
      warnings: [],
    },
  })
})

test.each([
  ['fix-slug', ['# pass 2', '# fail 2'], ['# pass 4', '# fail 0']],
  ['repair-config', ['# pass 9', '# fail 6'], ['# pass 15', '# fail 0']],
])('%s: some of its own tests fail until it is solved', async (name, before, after) => {
  const layout = await layOut(name)
  expect(await ownTests(layout)).toEqual(before)
  await solve(name, layout)
  expect(await ownTests(layout)).toEqual(after)
})

test('repair-config has enough to read for a long attempt', async () => {
  const { app } = await layOut('repair-config')
  expect(await readdir(join(app, 'src'))).toHaveLength(5)
  expect(await readdir(join(app, 'test'))).toHaveLength(5)
})
