import type { Sandbox } from '@agentrl/sandbox'
import type { Logger } from '@agentrl/spec'

/**
 * The contract of a harness: how one coding agent is run on a task. A harness
 * knows its agent's command line, environment and configuration files; it knows
 * no engine, no token and no reward.
 */
export interface Harness {
  /** The name on the command line: `mini`, `claude_code`. */
  readonly name: string
  /** One line for `--help`. */
  readonly summary: string
  /** The wire protocol that the agent speaks to the adapter. */
  readonly protocol: 'openai-chat' | 'anthropic-messages'
  /** `host`: the loop runs in this process and reaches into the sandbox. `sandbox`: a program inside. */
  readonly runsIn: 'host' | 'sandbox'
  /** Throws `HarnessError` (`harness_not_installed`, `harness_failed`) for what is not the policy's doing. */
  run(context: HarnessContext): Promise<HarnessResult>
}

export interface HarnessContext {
  readonly sandbox: Sandbox
  /** What the agent is asked to do. Hostile text: never part of a shell command. */
  readonly instruction: string
  /** Base URL of the adapter as the agent reaches it, without `/v1`. */
  readonly adapterUrl: string
  /** The session id. */
  readonly apiKey: string
  /** The model name that the agent shows to the adapter. */
  readonly model: string
  /** Time for the whole run. The agent is ended after it, which is its own failure and gets graded. */
  readonly timeBudgetMs: number
  /** The user that the agent runs as. Default: the sandbox's. */
  readonly user?: string
  /** Path of the agent's program inside the sandbox. Default: its name on PATH. */
  readonly program?: string
  /** Arguments after the harness's own, so that they win. */
  readonly extraArgs?: readonly string[]
  /** Environment after the harness's own, so that it wins. */
  readonly extraEnv?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly logger?: Logger
}

/** How the agent's run came to its end. None of these is an infrastructure failure. */
export interface HarnessResult {
  readonly end: 'finished' | 'failed' | 'timed_out' | 'cancelled'
  /** Null where no program of its own ran. */
  readonly exitCode: number | null
  /** The end of what the agent printed, for people. Hostile text. */
  readonly outputTail: string
}
