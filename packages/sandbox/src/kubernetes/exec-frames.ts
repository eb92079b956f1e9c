import { PassThrough, type Readable } from 'node:stream'
import { writePart } from '../write-part.ts'

/**
 * What comes over an exec connection, protocol `v5.channel.k8s.io`: messages
 * whose first byte names a channel.
 *
 *     0 stdin (ours)   1 stdout   2 stderr   3 status: JSON, the last message   255 a channel is closed (ours)
 *
 * Source: Kubernetes, KEP-4006.
 */
export interface ExecFrame {
  readonly channel: number
  readonly payload: Uint8Array
}

/** How the runtime says that the first process ended. */
export type ExecStatus =
  | { readonly kind: 'exited'; readonly exitCode: number }
  /** The command could not be started. */
  | { readonly kind: 'failed'; readonly message: string }
  /** The connection ended without a word. */
  | { readonly kind: 'cut' }

/** Parts frames into stdout, stderr and the status. Waits for readers who are slow; a connection that breaks off ends both outputs. */
export function demuxFrames(frames: AsyncIterable<ExecFrame>): {
  readonly stdout: Readable
  readonly stderr: Readable
  readonly status: Promise<ExecStatus>
} {
  const stdout = new PassThrough()
  const stderr = new PassThrough()

  async function forward(): Promise<ExecStatus> {
    let status: ExecStatus = { kind: 'cut' }
    try {
      for await (const { channel, payload } of frames) {
        if (channel === 1) await writePart(stdout, payload)
        if (channel === 2) await writePart(stderr, payload)
        if (channel === 3) status = readExecStatus(Buffer.from(payload).toString('utf8'))
      }
    } catch {
      // What broke off is cut.
    } finally {
      stdout.end()
      stderr.end()
    }
    return status
  }

  return { stdout, stderr, status: forward() }
}

/**
 * Reads the last message: `{ status: 'Success' }`, or a failure whose cause
 * `ExitCode` holds the exit code; without that, the command did not start.
 */
export function readExecStatus(text: string): ExecStatus {
  const status = parseStatus(text)
  if (status?.status === 'Success') return { kind: 'exited', exitCode: 0 }
  const cause = status?.details?.causes?.find(({ reason }) => reason === 'ExitCode')
  const exitCode = Number(cause?.message)
  if (cause !== undefined && Number.isInteger(exitCode)) return { kind: 'exited', exitCode }
  return { kind: 'failed', message: String(status?.message ?? text) }
}

interface StatusMessage {
  readonly status?: unknown
  readonly message?: unknown
  readonly details?: { readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[] }
}

function parseStatus(text: string): StatusMessage | undefined {
  try {
    return JSON.parse(text) as StatusMessage
  } catch {
    return undefined
  }
}
