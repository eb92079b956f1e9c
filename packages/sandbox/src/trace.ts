import { appendFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Logger, SandboxId } from '@agentrl/spec'
import type { EgressPolicy, ExecOutcome, SandboxLabels } from './sandbox-types.ts'

/**
 * The trace of a sandbox: one JSON line for each thing that was done with it,
 * written before its caller hears of it, failures included. Every line has
 * `version`, `time` (epoch milliseconds), `sandbox` and `kind`.
 */
export type TraceEvent =
  | {
      readonly kind: 'sandbox-boot'
      readonly driver: string
      readonly labels: SandboxLabels
      readonly egress: EgressPolicy['kind']
      readonly image?: string
      readonly lifetimeMs: number
      readonly durationMs: number
    }
  | {
      readonly kind: 'sandbox-boot-failed'
      readonly driver: string
      readonly durationMs: number
      readonly error: string
    }
  | {
      readonly kind: 'exec-end'
      readonly command: string
      readonly user?: string
      readonly cwd: string
      readonly outcome: ExecOutcome['kind']
      readonly exitCode?: number
      readonly durationMs: number
      readonly stdoutTail: string
      readonly stderrTail: string
      readonly stdoutBytes: number
      readonly stderrBytes: number
    }
  | { readonly kind: 'exec-failed'; readonly command: string; readonly durationMs: number; readonly error: string }
  | {
      readonly kind: 'file-write' | 'file-read' | 'file-upload' | 'file-download'
      readonly path: string
      readonly hostPath?: string
      readonly sizeBytes?: number
      readonly durationMs: number
      readonly error?: string
    }
  | { readonly kind: 'sandbox-end'; readonly durationMs: number; readonly error?: string }

export interface Trace {
  /** Resolves when the line is written; never rejects: a full disk must not end an attempt. */
  write(event: TraceEvent): Promise<void>
}

export interface TraceOptions {
  readonly sandboxId: SandboxId
  /** Lines go to `<runDirectory>/sandboxes/<id>.jsonl`; nothing is written without it. */
  readonly runDirectory: string | undefined
  readonly clock: Clock
  /** Hears of lines that could not be written. */
  readonly logger: Logger
}

/** Opens the trace of one sandbox. */
export function createTrace({ sandboxId, runDirectory, clock, logger }: TraceOptions): Trace {
  if (runDirectory === undefined) return { write: async () => {} }
  const folder = join(runDirectory, 'sandboxes')
  const file = join(folder, `${sandboxId.replaceAll(/[/:]/g, '_')}.jsonl`)
  let lastWrite: Promise<unknown> = mkdir(folder, { recursive: true })

  async function append(line: string, previous: Promise<unknown>): Promise<void> {
    try {
      await previous
      await appendFile(file, line)
    } catch (error) {
      logger.warn('a line of a sandbox trace was not written', { file, error: String(error) })
    }
  }

  return {
    write(event) {
      const line = `${JSON.stringify({ version: 1, time: clock.now(), sandbox: sandboxId, ...event })}\n`
      const written = append(line, lastWrite)
      lastWrite = written
      return written
    },
  }
}
