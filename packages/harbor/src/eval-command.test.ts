import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from './__fixtures__/write-task.ts'
import { buildEvalCommand, readEvalOutput } from './eval-command.ts'

const run = promisify(execFile)

/** Runs the command on a test script in folders of its own. `planted` is what an agent left behind. */
async function grade({
  script,
  planted = {},
  timeoutSec = 30,
}: {
  script: string
  planted?: Record<string, string>
  timeoutSec?: number
}) {
  const root = await temporaryFolder()
  const folders = { app: join(root, "it's an app"), tests: join(root, 'tests'), logs: join(root, 'logs') }
  for (const folder of [folders.app, folders.tests, join(folders.logs, 'verifier')])
    await mkdir(folder, { recursive: true })
  await writeFile(join(folders.tests, 'test.sh'), `#!/bin/bash\n${script}`)
  await chmod(join(folders.tests, 'test.sh'), 0o644)
  for (const [name, text] of Object.entries(planted)) await writeFile(join(folders.logs, 'verifier', name), text)
  const env = { PATH: process.env.PATH, AGENTRL_TESTS_DIR: folders.tests, AGENTRL_LOGS_DIR: folders.logs }
  const command = buildEvalCommand({ workdir: folders.app, timeoutSec })
  const { stdout } = await run('bash', ['-c', command], { env, cwd: '/' })
  return readEvalOutput(stdout)
}
const write = (name: string, text: string): string => `printf '%s' '${text}' > "$AGENTRL_LOGS_DIR/verifier/${name}"\n`

describe('the evaluation command', () => {
  test('gives the reward of reward.txt, whatever the exit code', async () => {
    expect(await grade({ script: `${write('reward.txt', '1\n')}exit 3` })).toMatchObject({ kind: 'graded', reward: 1 })
  })

  test('gives the rewards of reward.json first', async () => {
    const script = write('reward.json', '{\n"reward": 0.5,\n"style": 1}\n') + write('reward.txt', '1')
    expect(await grade({ script })).toMatchObject({ kind: 'graded', reward: 0.5, rewards: { reward: 0.5, style: 1 } })
  })

  test('runs in the folder of the task', async () => {
    const script = `[ "$(basename "$PWD")" = "it's an app" ] && ${write('reward.txt', '1')}`
    expect(await grade({ script })).toMatchObject({ kind: 'graded', reward: 1 })
  })

  test('does not take a reward that the agent planted', async () => {
    const planted = { 'reward.txt': '1', 'reward.json': '1' }
    expect(await grade({ script: 'true', planted })).toMatchObject({ kind: 'failed', reason: 'missing' })
  })

  test('does not take a reward that the tests print', async () => {
    expect(await grade({ script: 'echo AGENTRL_REWARD_TEXT 1' })).toMatchObject({ kind: 'failed', reason: 'missing' })
  })

  test('tells a verifier that ran out of time from one that exits with 124', async () => {
    const endless = `${write('reward.txt', '1')}exec tail -f /dev/null`
    expect(await grade({ script: endless, timeoutSec: 0.2 })).toMatchObject({ kind: 'failed', reason: 'timeout' })
    expect(await grade({ script: 'exit 124' })).toMatchObject({ kind: 'failed', reason: 'missing' })
  })

  test('stays short', () => {
    expect(buildEvalCommand({ workdir: '/testbed', timeoutSec: 3000 }).length).toBeLessThan(1100)
  })
})

test('an output without the closing line means that nothing was graded', () => {
  expect(readEvalOutput('AGENTRL_REWARD_TEXT 1\nbash: No space left on device\n')).toMatchObject({ kind: 'failed' })
  expect(readEvalOutput('')).toMatchObject({ kind: 'failed', reason: 'missing' })
})
