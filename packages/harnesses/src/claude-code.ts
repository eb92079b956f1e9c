import { execAndWait } from '@agentrl/sandbox'
import { HarnessError } from '@agentrl/spec'
import type { Harness, HarnessContext, HarnessResult } from './harness.ts'

/**
 * Claude Code, headless. The prompt goes in on stdin, so no text of a task is
 * ever on a command line; everything that would speak to anybody but the
 * adapter is switched off. Flags and variables were tried on 2.1.197 and
 * 2.1.332.
 */
export const claudeCode: Harness = {
  name: 'claude_code',
  summary: 'Claude Code (@anthropic-ai/claude-code), headless, inside the sandbox',
  protocol: 'anthropic-messages',
  runsIn: 'sandbox',
  run: runClaudeCode,
}

const tools = 'Bash,Read,Edit,Write'

async function runClaudeCode(context: HarnessContext): Promise<HarnessResult> {
  const { sandbox } = context
  const program = context.program ?? 'claude'
  const outcome = await execAndWait(
    sandbox,
    [
      program,
      '-p',
      '--permission-mode',
      'bypassPermissions',
      '--output-format',
      'stream-json',
      '--verbose',
      '--tools',
      tools,
      '--disable-slash-commands',
      ...(context.extraArgs ?? []),
    ],
    {
      stdin: context.instruction,
      env: {
        ANTHROPIC_BASE_URL: context.adapterUrl,
        ANTHROPIC_API_KEY: context.apiKey,
        ANTHROPIC_MODEL: context.model,
        IS_SANDBOX: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
        CLAUDE_CODE_MAX_RETRIES: '2',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_ERROR_REPORTING: '1',
        DISABLE_TELEMETRY: '1',
        ...context.extraEnv,
      },
      timeoutMs: context.timeBudgetMs,
      maxOutputBytes: 16 * 1024 * 1024,
      ...(context.user === undefined ? {} : { user: context.user }),
      ...(context.signal === undefined ? {} : { signal: context.signal }),
    },
  )
  const outputTail = `${outcome.stdout.slice(-4000)}${outcome.stderr.slice(-2000)}`
  if (outcome.kind === 'timed_out' || outcome.kind === 'cancelled') {
    return { end: outcome.kind, exitCode: null, outputTail }
  }
  if (outcome.kind === 'overflow') return { end: 'failed', exitCode: null, outputTail }
  if (outcome.exitCode === 127 || outcome.exitCode === 126) {
    throw new HarnessError(
      'harness_not_installed',
      `"${program}" could not be started in the sandbox (exit code ${outcome.exitCode}): ` +
        'install @anthropic-ai/claude-code there, or name the program with --agent-program',
    )
  }
  return { end: outcome.exitCode === 0 ? 'finished' : 'failed', exitCode: outcome.exitCode, outputTail }
}
