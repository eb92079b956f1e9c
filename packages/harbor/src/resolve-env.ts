import { TaskError } from '@agentrl/spec'
import type { EnvTemplates } from './harbor-task.ts'

/**
 * Environment values of a task may name variables of the host. Only a value
 * that is one template from end to end counts: `prefix-${X}` is plain text.
 * Rows keep templates as they are, so that no secret lands in a data set; the
 * sandbox resolves them when it starts.
 */
const template = /^\$\{([^}:]+)(?::-([^\n]*))?\}$/

type HostEnv = Readonly<Record<string, string | undefined>>

/** Names the variables that `env` needs and `hostEnv` lacks, templates with a default left out. */
export function missingEnvVariables(env: EnvTemplates, hostEnv: HostEnv): string[] {
  return Object.values(env).flatMap((value) => {
    const [, name, fallback] = template.exec(value) ?? []
    return name !== undefined && fallback === undefined && hostEnv[name] === undefined ? [name] : []
  })
}

/** Puts the values of `hostEnv` in. Throws `task_unsupported` (reason `unresolved_env`) where one is missing. */
export function resolveEnvTemplates(env: EnvTemplates, hostEnv: HostEnv): Record<string, string> {
  const missing = missingEnvVariables(env, hostEnv)
  if (missing.length > 0) {
    throw new TaskError(
      'task_unsupported',
      `The task reads ${missing.join(', ')} from the host: set it and try again`,
      {
        details: { reasons: ['unresolved_env'], variables: missing },
      },
    )
  }
  return Object.fromEntries(
    Object.entries(env).map(([key, value]) => {
      const [, name, fallback] = template.exec(value) ?? []
      return [key, name === undefined ? value : (hostEnv[name] ?? fallback ?? '')]
    }),
  )
}
