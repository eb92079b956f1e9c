import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createWeightedPlayer, type ScriptedTurn, type TaskScripts, type WeightedScript } from '@agentrl/core/testing'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const tasks = fileURLToPath(new URL('../tasks', import.meta.url))
const module: { readonly default: readonly TaskScripts[] } = await import(
  new URL('../scripts.mjs', import.meta.url).href
)
const scripts = module.default
const playable = scripts.flatMap((task) =>
  task.scripts.map((script) => ({ task: task.task, name: script.name, script })),
)

/** The turns of a script as the embedded agent's model writes them, the one after its end included. */
function turnsOf(task: string, script: WeightedScript): readonly ScriptedTurn[] {
  const marker = scripts.find((each) => each.task === task)?.marker ?? ''
  const { play } = createWeightedPlayer({ tasks: [{ task, marker, scripts: [script] }] })
  const headText = `{"name": "bash"} ${marker}`
  return Array.from({ length: script.steps.length + 1 }, (_, turnIndex) =>
    play({
      headText,
      promptText: `${headText} ${turnIndex}`,
      turnIndex,
      conversationId: 'c',
      temperature: 1,
      random: () => 0,
    }),
  )
}

/** Runs what the script does in a copy of the project, and gives the reward. */
async function playOut(task: string, script: WeightedScript): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'agentrl scripts '))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const app = join(root, 'app')
  await cp(join(tasks, task, 'environment', 'project'), app, { recursive: true })
  const env = {
    PATH: process.env.PATH,
    AGENTRL_APP_DIR: app,
    AGENTRL_TESTS_DIR: join(tasks, task, 'tests'),
    AGENTRL_LOGS_DIR: root,
  }
  // A call beyond repair is not run, nor is one that was cut.
  const calls = turnsOf(task, script)
    .filter((turn) => turn.finish !== 'length')
    .flatMap((turn) => turn.calls ?? [])
    .filter((call) => call.damage !== 'bare-word')
  for (const call of calls) {
    // Some commands fail, as those of a model do.
    await run('bash', ['-c', String(call.arguments.command)], { cwd: app, env }).catch(() => {})
  }
  await run(join(env.AGENTRL_TESTS_DIR, 'test.sh'), { cwd: app, env })
  return (await readFile(join(root, 'verifier', 'reward.txt'), 'utf8')).trim()
}

test.each(playable)('$task, $name: the reward is 1 for a right one only', async ({ task, name, script }) => {
  expect(await playOut(task, script)).toBe(name.startsWith('right') ? '1' : '0')
})

test.each(scripts)('the marker of $task stands in its own instruction and in no other', async ({ task, marker }) => {
  const names = scripts.map((each) => each.task)
  const instructions = await Promise.all(names.map((name) => readFile(join(tasks, name, 'instruction.md'), 'utf8')))
  expect(names.filter((_, index) => instructions[index]?.includes(marker))).toEqual([task])
})

test('every kind of attempt is played: right, wrong, no change, malformed, cut in a call and in reasoning', () => {
  const kinds = ['right', 'wrong', 'no change', 'malformed call', 'cut in a call', 'cut in reasoning']
  expect(kinds.filter((kind) => !playable.some(({ name }) => name.startsWith(kind)))).toEqual([])
})

test('the long one has ten turns: parallel calls, one that fails, and two to repair', () => {
  const long = playable.find(({ name }) => name.startsWith('right, long'))
  const steps = long?.script.steps ?? []
  const actions = steps.flatMap((step) => step.actions ?? [])
  expect(steps).toHaveLength(10)
  expect(steps.filter((step) => (step.actions?.length ?? 0) > 1).length).toBeGreaterThanOrEqual(3)
  expect(actions.flatMap(({ damage }) => damage ?? [])).toEqual(['raw-newline', 'single-backslash'])
  const project = join(tasks, 'repair-config', 'environment', 'project')
  const missing = actions.filter((action) => action.kind === 'read' && !existsSync(join(project, action.path)))
  expect(missing).toMatchObject([{ path: 'src/parse-line.mjs' }])
})
