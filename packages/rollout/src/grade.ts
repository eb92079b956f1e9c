import { type HarborReward, type PromptRow, readEvalOutput } from '@agentrl/harbor'
import type { Sandbox } from '@agentrl/sandbox'
import { workdirOf } from './workspace.ts'

/**
 * Grades an attempt in its own sandbox, after the agent has ended: the tests are
 * uploaded only now, over whatever the agent may have planted there, and
 * nothing but the reward file is believed.
 */
export async function gradeAttempt(sandbox: Sandbox, row: PromptRow, signal?: AbortSignal): Promise<HarborReward> {
  const { metadata } = row
  const abort = signal === undefined ? {} : { signal }
  const asVerifier = verifierUser(sandbox, row)
  await sandbox.exec(['rm', '-rf', sandbox.path('/tests'), sandbox.path('/logs/verifier')], { check: true, ...abort })
  await sandbox.exec(['mkdir', '-p', sandbox.path('/logs/verifier')], { check: true, ...abort })
  await sandbox.upload(metadata.harbor.tests_dir, '/tests', abort)
  const outcome = await sandbox.exec(['bash', '-c', metadata.eval_cmd], {
    cwd: workdirOf(row),
    timeoutMs: Math.ceil(metadata.verifier_timeout_sec * 1000) + 30_000,
    env: {
      AGENTRL_APP_DIR: sandbox.path(workdirOf(row)),
      AGENTRL_TESTS_DIR: sandbox.path('/tests'),
      AGENTRL_LOGS_DIR: sandbox.path('/logs'),
    },
    ...asVerifier,
    ...abort,
  })
  signal?.throwIfAborted()
  if (outcome.kind === 'timed_out') {
    return { kind: 'failed', reason: 'timeout', message: `the verifier ran longer than ${outcome.timeoutMs} ms` }
  }
  return readEvalOutput(outcome.stdout)
}

function verifierUser(sandbox: Sandbox, { metadata }: PromptRow): { user?: string } {
  if (!sandbox.capabilities.canSwitchUser) return {}
  return { user: String(metadata.verifier_user ?? 'root') }
}
