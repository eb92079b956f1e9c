import { moveTrained } from '@agentrl/core'
import type { Adapter, Session, SessionOptions } from '@agentrl/core/adapter'
import type { PromptRow } from '@agentrl/harbor'
import type { Harness, HarnessResult } from '@agentrl/harnesses'
import type { EgressPolicy, Lifetimes, Sandbox, SandboxDriver } from '@agentrl/sandbox'
import {
  type Bucket,
  type Clock,
  type GroupId,
  isAgentRlError,
  type Ledger,
  type Logger,
  type RolloutId,
  type Sample,
  TaskError,
} from '@agentrl/spec'
import type { AttemptResult } from './attempt-result.ts'
import { gradeAttempt } from './grade.ts'
import { fillWorkspace, readPatch, recordBaseline, workdirOf } from './workspace.ts'

/**
 * One attempt:
 *
 *   boot ─▶ fill + record ─▶ harness ─▶ patch ─▶ close session ─▶ grade ─▶ samples
 *     └────────────── one guard, one signal, one sandbox, one session ───────────┘
 *
 * Whatever happens, the sandbox and the session are gone afterwards and the
 * result accounts for every token that was sampled on the way.
 */
export interface AttemptPlan {
  readonly row: PromptRow
  readonly groupId: GroupId
  readonly rolloutId: RolloutId
  readonly groupIndex: number
  readonly attemptIndex: number
}

export interface AttemptParts {
  readonly runId: string
  readonly harness: Harness
  readonly driver: SandboxDriver
  readonly egress: EgressPolicy
  readonly adapter: Adapter
  /** Base URL of the adapter as the agent reaches it. */
  readonly adapterUrl: string
  readonly session: SessionOptions
  readonly model: string
  /** Upper bound of the agent's time; a task's own shorter limit wins. */
  readonly timeBudgetMs: number
  readonly agentProgram?: string
  /** Traces of sandboxes go below it. */
  readonly runDirectory: string
  readonly mounts?: readonly { readonly hostPath: string; readonly path: string }[]
  readonly clock: Clock
  readonly logger: Logger
}

/** Time beyond agent and verifier that an attempt may take before it is ended from outside. */
const guardSlackMs = 180_000

/** Runs one attempt to its end. Never rejects for what an attempt can do; rejects when `signal` aborts. */
export async function runAttempt(plan: AttemptPlan, parts: AttemptParts, signal?: AbortSignal): Promise<AttemptResult> {
  const startedAt = parts.clock.now()
  const session = parts.adapter.sessions.open({ ...parts.session, label: `${plan.rolloutId}` })
  const progress: Progress = { patch: '', agent: null }
  let reward: number | null = null
  let abort: { readonly reason: string; readonly message: string; readonly bucket: AbortBucket } | null = null
  try {
    const graded = await attempt(plan, parts, { session, progress, ...(signal === undefined ? {} : { signal }) })
    if (graded.kind === 'graded') reward = graded.reward
    else abort = { reason: `unevaluatable:${graded.reason}`, message: graded.message, bucket: 'reward_null' }
  } catch (error) {
    signal?.throwIfAborted()
    abort = { ...abortOf(error), bucket: 'attempt_aborted' }
    parts.logger.warn('an attempt was aborted', { rollout: plan.rolloutId, ...abort })
  } finally {
    await session.close()
  }
  const { samples, ledger } = settle(plan, session, { reward, bucket: abort?.bucket ?? null })
  const counts = session.counters.toJSON()
  await parts.adapter.sessions.drop(session.id)
  const { row, ...place } = plan
  return {
    ...place,
    instanceId: row.metadata.instance_id,
    abortReason: abort?.reason ?? null,
    reward,
    samples,
    ledger,
    counts,
    drifts: session.drifts,
    turns: session.trajectory.turnCount,
    patch: progress.patch,
    agentEnd: progress.agent?.end ?? null,
    agentExitCode: progress.agent?.exitCode ?? null,
    elapsedMs: parts.clock.now() - startedAt,
    message: abort?.message ?? null,
  }
}

interface Progress {
  patch: string
  agent: HarnessResult | null
}

/** The times that bound an attempt at a task, from the inside out. */
export function attemptLifetimes(
  { metadata }: PromptRow,
  { timeBudgetMs, driver }: Pick<AttemptParts, 'timeBudgetMs' | 'driver'>,
): Lifetimes {
  const agentSeconds = metadata.agent_timeout_sec ?? Number.POSITIVE_INFINITY
  const agentBudgetMs = Math.min(timeBudgetMs, agentSeconds * 1000)
  const attemptGuardMs = Math.ceil(agentBudgetMs + metadata.verifier_timeout_sec * 1000 + guardSlackMs)
  return {
    agentBudgetMs,
    attemptGuardMs,
    sandboxLifetimeMs: attemptGuardMs + guardSlackMs,
    gatewayLimitMs: driver.capabilities.maxLifetimeMs,
  }
}

async function attempt(
  plan: AttemptPlan,
  parts: AttemptParts,
  context: { readonly session: Session; readonly progress: Progress; readonly signal?: AbortSignal },
) {
  const { row } = plan
  const { session, progress } = context
  const { agentBudgetMs: timeBudgetMs, attemptGuardMs, sandboxLifetimeMs } = attemptLifetimes(row, parts)
  const guard = AbortSignal.timeout(attemptGuardMs)
  const signal = context.signal === undefined ? guard : AbortSignal.any([context.signal, guard])
  await using sandbox = await boot(plan, parts, { lifetimeMs: sandboxLifetimeMs, signal })
  await fillWorkspace(sandbox, row, signal)
  const workdir = workdirOf(row)
  await recordBaseline(sandbox, workdir, signal)
  progress.agent = await parts.harness.run({
    sandbox,
    instruction: row.prompt,
    adapterUrl: parts.adapterUrl,
    apiKey: session.id,
    model: parts.model,
    timeBudgetMs,
    signal,
    logger: parts.logger,
    ...agentUser(sandbox, row),
    ...(parts.agentProgram === undefined ? {} : { program: parts.agentProgram }),
  })
  // Nothing samples after the agent has ended, so nothing can be added to what is graded.
  await session.close()
  if (session.engineFailure !== null) throw session.engineFailure
  if (session.trajectory.turnCount === 0) {
    throw new EmptySession(progress.agent)
  }
  progress.patch = await readPatch(sandbox, workdir, signal)
  if (progress.patch === '') session.counters.add('empty_patch')
  // Awaited here: the sandbox must outlive its grading.
  return await gradeAttempt(sandbox, row, signal)
}

async function boot(
  plan: AttemptPlan,
  parts: AttemptParts,
  { lifetimeMs, signal }: { readonly lifetimeMs: number; readonly signal: AbortSignal },
): Promise<Sandbox> {
  const { image, harbor } = plan.row.metadata
  const { driver } = parts
  if (driver.capabilities.hasImages && image === '') {
    throw new TaskError('task_unsupported', `Task "${plan.row.metadata.instance_id}" names no image`)
  }
  return driver.boot({
    labels: { run: parts.runId, attempt: plan.rolloutId },
    egress: parts.egress,
    workdir: workdirOf(plan.row),
    lifetimeMs,
    runDirectory: parts.runDirectory,
    env: driver.capabilities.hasImages ? {} : { ...(harbor.replay?.env ?? {}) },
    signal,
    ...(driver.capabilities.hasImages ? { image } : {}),
    ...(parts.mounts === undefined ? {} : { mounts: parts.mounts }),
  })
}

function agentUser(sandbox: Sandbox, { metadata }: PromptRow): { user?: string } {
  if (!sandbox.capabilities.canSwitchUser || metadata.agent_user === null) return {}
  return { user: String(metadata.agent_user) }
}

/** The agent ended without ever asking for a token: it could not have been the policy's doing. */
class EmptySession extends Error {
  constructor(agent: HarnessResult) {
    const tail = agent.outputTail.trim().slice(-200)
    super(`the agent never called the model (${agent.end}, exit code ${agent.exitCode}): ${tail}`)
  }
}

function abortOf(error: unknown): { reason: string; message: string } {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof EmptySession) return { reason: 'adapter_session_empty', message }
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return { reason: 'wall_clock_timeout', message: 'the attempt did not end within its guard time' }
  }
  if (isAgentRlError(error) && error.code === 'task_unsupported') {
    return { reason: 'missing_image_or_workdir', message }
  }
  return { reason: `exception:${isAgentRlError(error) ? error.code : (error as Error).name}`, message }
}

/** Where the tokens of an attempt go that has no reward. */
type AbortBucket = Extract<Bucket, 'attempt_aborted' | 'reward_null'>

/** Linearizes, and moves what can't train because of the attempt's end into its bucket. */
function settle(
  plan: AttemptPlan,
  session: Session,
  end: { readonly reward: number | null; readonly bucket: AbortBucket | null },
): { samples: readonly Sample[]; ledger: Ledger } {
  const { samples, ledger } = session.linearize({
    reward: end.reward,
    groupId: plan.groupId,
    rolloutId: plan.rolloutId,
    maxSampleTokens: session.options.maxContextTokens,
    metadata: { instance_id: plan.row.metadata.instance_id },
  })
  return end.bucket === null ? { samples, ledger } : { samples: [], ledger: moveTrained(ledger, end.bucket) }
}
