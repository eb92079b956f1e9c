import { excerpt, HarnessError } from '@agentrl/spec'
import { claudeCode } from './claude-code.ts'
import type { Harness } from './harness.ts'
import { mini } from './mini.ts'

/** Every agent that can be run, by name. */
export const harnesses: Readonly<Record<string, Harness>> = { mini, claude_code: claudeCode }

/** The agent of a name. Throws `harness_unknown`, naming those that exist. */
export function findHarness(name: string): Harness {
  const harness = Object.hasOwn(harnesses, name) ? harnesses[name] : undefined
  if (harness !== undefined) return harness
  throw new HarnessError(
    'harness_unknown',
    `There is no agent "${excerpt(name)}"; known agents: ${Object.keys(harnesses).join(', ')}`,
  )
}
