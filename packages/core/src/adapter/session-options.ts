import { ConfigError, type SamplingParams } from '@agentrl/spec'
import { type BranchPolicies, type BranchPolicy, defaultBranchPolicies } from '../alignment/branch-policy.ts'
import type { ClientSampling } from './protocols/protocol.ts'

/** What a session may do, fixed when it is opened. */
export interface SessionOptions {
  /** `train` (default): every sampling key is pinned. `eval`: keys left out of `sampling` may come from the client. */
  readonly mode?: 'train' | 'eval'
  /** Pinned keys. Default for the rest: temperature 1 and everything else neutral. */
  readonly sampling?: Partial<SamplingParams>
  /** Tokens of prompt and output together; at least 256. Default 32768. */
  readonly maxContextTokens?: number
  /** Tokens of one output; at least 1. Default 8192. */
  readonly maxGenerationTokens?: number
  /** Turns; further ones get 429. A request that is refused before anything is sampled is none. Default 200. */
  readonly turnCap?: number
  /** Names of the tools that the model is shown. Default: all that the client offers. */
  readonly allowedTools?: readonly string[]
  /** What becomes of the turns of the main conversation, of sub-agents, summaries and side requests. Default: all train. */
  readonly branchPolicies?: Partial<BranchPolicies>
  /** `train` (default): replies that broke their tool-call format train too. `context`: they don't. */
  readonly illFormedTurns?: 'train' | 'context'
  /** `off`: a tool call that needs a repair is ill-formed, so that a run shows what it owes to repairs. Default `conservative`. */
  readonly toolCallRepair?: 'conservative' | 'off'
}

/** The same with every default filled in. */
export interface ResolvedSessionOptions
  extends Required<Omit<SessionOptions, 'allowedTools' | 'sampling' | 'branchPolicies'>> {
  readonly branchPolicies: BranchPolicies
  readonly allowedTools: readonly string[] | null
  readonly sampling: Partial<SamplingParams>
}

/** Sampling from the model's own distribution, unchanged: the one that a trainer can recompute. */
export const neutralSampling: SamplingParams = {
  temperature: 1,
  topP: 1,
  topK: -1,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
}

/** Fills defaults in. Throws `config_invalid`. */
export function resolveSessionOptions(options: SessionOptions): ResolvedSessionOptions {
  const resolved = {
    mode: options.mode ?? 'train',
    sampling: options.sampling ?? {},
    maxContextTokens: options.maxContextTokens ?? 32_768,
    maxGenerationTokens: options.maxGenerationTokens ?? 8_192,
    turnCap: options.turnCap ?? 200,
    allowedTools: options.allowedTools ?? null,
    branchPolicies: { ...defaultBranchPolicies, ...options.branchPolicies },
    illFormedTurns: options.illFormedTurns ?? 'train',
    toolCallRepair: options.toolCallRepair ?? 'conservative',
  }
  for (const [role, policy] of Object.entries(resolved.branchPolicies)) requirePolicy(role, policy)
  requireInteger('maxContextTokens', resolved.maxContextTokens, 256)
  requireInteger('maxGenerationTokens', resolved.maxGenerationTokens, 1)
  requireInteger('turnCap', resolved.turnCap, 1)
  return resolved
}

function requireInteger(name: string, value: number, minimum: number): void {
  if (Number.isInteger(value) && value >= minimum) return
  throw new ConfigError('config_invalid', `${name} is a whole number of at least ${minimum}; found ${value}`)
}

function requirePolicy(role: string, policy: BranchPolicy): void {
  const isKnown = Object.hasOwn(defaultBranchPolicies, role) && ['train', 'context', 'drop'].includes(policy)
  if (isKnown) return
  throw new ConfigError(
    'config_invalid',
    `branchPolicies gives main, sub_agent, compaction and auxiliary one of train, context, drop; found ${role}: ${policy}`,
  )
}

/**
 * The distribution that a turn samples from, and the client's keys that were
 * not followed. In training nothing of the client's is; in evaluation what the
 * session left unset is.
 */
export function effectiveSampling(
  options: ResolvedSessionOptions,
  client: ClientSampling,
): { sampling: SamplingParams; ignored: readonly string[] } {
  const pinned = options.mode === 'train' ? { ...neutralSampling, ...options.sampling } : options.sampling
  const sampling = { ...neutralSampling, ...(options.mode === 'eval' ? client : {}), ...pinned }
  const keys = Object.keys(client) as (keyof ClientSampling)[]
  return { sampling, ignored: keys.filter((key) => client[key] !== sampling[key]) }
}
