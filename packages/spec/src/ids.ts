import { excerpt, ValueError } from './errors.ts'

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** One training row. */
export type SampleId = Branded<'SampleId'>
/** The attempts at one prompt that are compared with each other. */
export type GroupId = Branded<'GroupId'>
/** One attempt; samples that fanned out of it share this id. */
export type RolloutId = Branded<'RolloutId'>
/** One task. */
export type TaskId = Branded<'TaskId'>
/** One sandbox. */
export type SandboxId = Branded<'SandboxId'>
/** One conversation of one attempt with the adapter; also its API key. */
export type SessionId = Branded<'SessionId'>

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,254}$/

function readId(kind: string, raw: string): string {
  if (idPattern.test(raw)) return raw
  throw new ValueError(
    'value_invalid',
    `A ${kind} is 1 to 255 characters of A-Z a-z 0-9 . _ : / - and starts with a letter or a digit; found "${excerpt(raw)}"`,
    { details: { kind } },
  )
}

/** Checks and brands a sample id. Throws `value_invalid`. */
export const sampleId = (raw: string): SampleId => readId('sample id', raw) as SampleId
/** Checks and brands a group id. Throws `value_invalid`. */
export const groupId = (raw: string): GroupId => readId('group id', raw) as GroupId
/** Checks and brands a rollout id. Throws `value_invalid`. */
export const rolloutId = (raw: string): RolloutId => readId('rollout id', raw) as RolloutId
/** Checks and brands a task id. Throws `value_invalid`. */
export const taskId = (raw: string): TaskId => readId('task id', raw) as TaskId
/** Checks and brands a sandbox id. Throws `value_invalid`. */
export const sandboxId = (raw: string): SandboxId => readId('sandbox id', raw) as SandboxId
/** Checks and brands a session id. Throws `value_invalid`. */
export const sessionId = (raw: string): SessionId => readId('session id', raw) as SessionId
