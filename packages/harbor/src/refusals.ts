import type { HarborTask } from './harbor-task.ts'
import { missingEnvVariables } from './resolve-env.ts'

/** Why a valid task is not run, by a stable code. */
export const refusalMeanings = {
  windows: 'it runs in a Windows container',
  multi_step: 'its steps share one environment, and one row is one attempt',
  separate_verifier: 'its verifier runs in a container of its own',
  prior_trajectory: 'its agent begins in the middle of a recorded attempt',
  multi_container: 'it takes Docker Compose',
  gpu: 'it asks for a GPU',
  tpu: 'it asks for a TPU',
  unresolved_env: 'it reads variables that the host does not set',
} as const

export type RefusalReason = keyof typeof refusalMeanings

/** Reasons that a caller may lift, because the row says all that a capable sandbox needs. */
export type LiftableReason = 'multi_container' | 'gpu' | 'tpu'

export const liftableReasons: readonly LiftableReason[] = ['multi_container', 'gpu', 'tpu']

/** Names every reason for which a task can't be run, in the order of `refusalMeanings`. */
export function refusalReasons(
  task: HarborTask,
  hostEnv: Readonly<Record<string, string | undefined>> | null,
): RefusalReason[] {
  const { environment, verifier } = task
  const services = [...task.artifacts, ...verifier.collect].map(({ service }) => service ?? 'main')
  const missing = [environment.env, verifier.env].flatMap((env) => (hostEnv ? missingEnvVariables(env, hostEnv) : []))
  const isMet: Record<RefusalReason, boolean> = {
    windows: environment.os === 'windows',
    multi_step: task.steps.length > 0,
    separate_verifier: verifier.isSeparate,
    prior_trajectory: task.hasTrajectory,
    multi_container: task.composeFile !== null || services.some((service) => service !== 'main'),
    gpu: (environment.gpus ?? 0) > 0 || environment.gpuTypes.length > 0,
    tpu: environment.tpu !== null,
    unresolved_env: missing.length > 0,
  }
  return (Object.keys(refusalMeanings) as RefusalReason[]).filter((reason) => isMet[reason])
}
