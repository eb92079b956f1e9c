import type { Readable } from 'node:stream'
import { excerpt, SandboxError } from '@agentrl/spec'
import { createOutputCollector } from './output-collector.ts'

/** A short command of ours writes less and is over sooner, unless its shell is not what it was. */
const maxOutputBytes = 1024 * 1024
const maxMs = 20_000

/** A command of ours that runs far away. */
export interface ShortCommand {
  readonly stdout: Readable
  readonly stderr: Readable
  /** Asked when both outputs have ended. */
  readonly exitCode: () => Promise<number>
  /** Ends both outputs. */
  readonly cut: () => void
}

/** Reads a short command to its end and gives its stdout; rejects with a `SandboxError` unless it exits with 0. */
export async function readShortCommand({ stdout, stderr, exitCode, cut }: ShortCommand): Promise<string> {
  let cutReason = ''
  const cutFor = (reason: string): void => {
    cutReason ||= reason
    cut()
  }
  const timer = setTimeout(() => cutFor(`took longer than ${maxMs} ms`), maxMs)
  const read = async (part: Readable): Promise<string> => {
    const collector = createOutputCollector(maxOutputBytes, 'head')
    for await (const chunk of part) {
      if (collector.push(chunk)) cutFor(`wrote more than ${maxOutputBytes} bytes`)
    }
    return Buffer.from(collector.bytes()).toString('utf8')
  }
  const [written, complaint] = await Promise.all([read(stdout), read(stderr)]).finally(() => clearTimeout(timer))
  if (cutReason !== '') throw new SandboxError('sandbox_exec_failed', `A command of ours in the container ${cutReason}`)
  const code = await exitCode()
  if (code === 0) return written
  throw new SandboxError(
    'sandbox_exec_failed',
    `A command of ours exited with ${code}: ${excerpt(complaint + written)}`,
  )
}
