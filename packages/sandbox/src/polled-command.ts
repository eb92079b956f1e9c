import { PassThrough } from 'node:stream'
import { SandboxError } from '@agentrl/spec'
import type { DetachedCommand, Look } from './detached-command.ts'
import type { ProcessGroup } from './process-group.ts'
import type { RunningCommand } from './sandbox-backend.ts'
import { writePart } from './write-part.ts'

export interface PolledCommandOptions {
  readonly detached: DetachedCommand
  /** The look that the launch took, with the output from the start on. */
  readonly first: Look
  readonly group: (groupId: number) => ProcessGroup
  /** How long one look waits for news, inside the sandbox. */
  readonly waitMs: number
  /** The most output that one look brings along, for each stream. */
  readonly maxReadBytes: number
  /** A file of output beyond this fills the sandbox's disk: the command is ended. */
  readonly maxFileBytes: number
}

/**
 * A detached command as a running one: its output comes in the parts that looks
 * bring along. It needs no connection that lasts longer than one look.
 */
export function followDetachedCommand(options: PolledCommandOptions): RunningCommand {
  const { detached, first, group, waitMs, maxReadBytes, maxFileBytes } = options
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  let read = { stdout: 0, stderr: 0 }
  let groupId: number | undefined
  let isReleased = false
  let isOverfull = false

  async function take(seen: Look): Promise<void> {
    read = { stdout: read.stdout + seen.stdout.length, stderr: read.stderr + seen.stderr.length }
    if (seen.kind === 'running') groupId ??= seen.groupId
    await writePart(stdout, seen.stdout)
    await writePart(stderr, seen.stderr)
  }

  /** What was written when the command was first seen to be over: a child in the background may go on for ever. */
  let finalSizes: Look['sizes'] | undefined
  const isAllRead = ({ sizes }: Look): boolean => {
    const wanted = finalSizes ?? sizes
    return read.stdout >= wanted.stdout && read.stderr >= wanted.stderr
  }

  async function follow(): Promise<number> {
    let seen = first
    for (;;) {
      await take(seen)
      const isOver = seen.kind === 'done' || seen.kind === 'gone'
      if (isOver) finalSizes ??= seen.sizes
      if (isOver && (isAllRead(seen) || isReleased)) return seen.kind === 'done' ? seen.exitCode : 137
      if (seen.kind === 'absent')
        throw new SandboxError('sandbox_exec_failed', 'The files of a command were removed while it ran')
      if (isReleased) return 137
      if (!isOverfull && Math.max(seen.sizes.stdout, seen.sizes.stderr) > maxFileBytes && groupId !== undefined) {
        isOverfull = true
        await group(groupId).signal('SIGKILL')
      }
      seen = await detached.look({
        waitMs: isOver || !isAllRead(seen) ? 0 : waitMs,
        read: { stdoutStart: read.stdout, stderrStart: read.stderr, maxBytes: maxReadBytes },
      })
    }
  }

  const exitCode = follow().finally(() => {
    stdout.end()
    stderr.end()
  })
  exitCode.catch(() => {})
  return {
    stdout,
    stderr,
    exitCode,
    isOverfull: () => isOverfull,
    group: {
      name: 'a detached command',
      signal: async (signal) => (groupId === undefined ? undefined : group(groupId).signal(signal)),
      async survivors() {
        if (groupId !== undefined) return group(groupId).survivors()
        const seen = await detached.look()
        if (seen.kind === 'running') groupId = seen.groupId
        return seen.kind === 'running' || seen.kind === 'starting' ? ['a command that is starting'] : []
      },
    },
    release() {
      isReleased = true
    },
  }
}
