import { access } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, isAgentRlError, SandboxError } from '@agentrl/spec'
import { checkInteger } from './boot-options.ts'
import type { Sandbox } from './sandbox.ts'
import type { FileBackend, FileCall } from './sandbox-backend.ts'
import { normalizeSandboxPath } from './sandbox-path.ts'
import type { FileContent, FileOptions } from './sandbox-types.ts'
import type { TraceEvent } from './trace.ts'

type FileEvent = Omit<
  Extract<TraceEvent, { readonly kind: 'file-write' | 'file-read' | 'file-upload' | 'file-download' }>,
  'durationMs'
>
type FileWork<T> = (path: string, call: FileCall) => Promise<T>

/** A file call that takes longer waits for something that will not come. */
const maxFileCallMs = 600_000

export interface FileCallParts {
  readonly files: FileBackend
  readonly workdir: string
  readonly clock: Clock
  /** Aborts when the sandbox ends. */
  readonly ending: AbortSignal
  /** How long an aborted call may take to end by itself; then its caller hears of it anyway. Default 5,000. */
  readonly abandonMs?: number
  /** Throws the reason when the sandbox has ended, or the signal was aborted. */
  checkOpen(signal?: AbortSignal): void
  /** Work that disposal waits for. */
  track<T>(work: Promise<T>): Promise<T>
  trace(event: TraceEvent): Promise<void>
}

/**
 * The file calls of a sandbox, whatever its driver: paths and limits are
 * checked here, each call ends with its signal, with the sandbox and after ten
 * minutes, also when its driver does not, and is told to the trace.
 */
export function createFileCalls(
  parts: FileCallParts,
): Pick<Sandbox, 'writeFile' | 'readFile' | 'readText' | 'readStream' | 'exists' | 'upload' | 'download'> {
  const { files, workdir, clock, ending, abandonMs = 5_000, checkOpen, track, trace } = parts

  function limitCall(path: string, { user, signal: given }: FileOptions): { normal: string; call: FileCall } {
    checkOpen(given)
    const signals = [ending, AbortSignal.timeout(maxFileCallMs), ...(given === undefined ? [] : [given])]
    const signal = AbortSignal.any(signals)
    return { normal: normalizeSandboxPath(path, workdir), call: user === undefined ? { signal } : { user, signal } }
  }

  /** What a caller hears of a call that failed: why it was aborted, or an error of the sandbox. */
  function failure(error: unknown, path: string, { signal }: FileCall, options: FileOptions): unknown {
    if (signal.aborted && !ending.aborted && options.signal?.aborted !== true) {
      return new SandboxError('sandbox_exec_failed', `The file call for ${path} took longer than ${maxFileCallMs} ms`)
    }
    if (signal.aborted) return signal.reason
    if (isAgentRlError(error)) return error
    return new SandboxError('sandbox_exec_failed', `The file call for ${path} failed: ${String(error)}`, {
      cause: error,
    })
  }

  async function fileCall<T>(path: string, options: FileOptions, make: FileWork<T>): Promise<T> {
    const { normal, call } = limitCall(path, options)
    try {
      return await unlessAbandoned(track(make(normal, call)), call.signal, abandonMs)
    } catch (error) {
      throw failure(error, path, call, options)
    }
  }

  /** The same, with a line in the trace. */
  async function tracedCall<T>(event: FileEvent, options: FileOptions, make: FileWork<T>): Promise<T> {
    checkOpen(options.signal)
    const finish = traceFrom(event)
    try {
      const result = await fileCall(event.path, options, make)
      await finish()
      return result
    } catch (error) {
      await finish(error)
      throw error
    }
  }

  function traceFrom(event: FileEvent): (error?: unknown) => Promise<void> {
    const startedAt = clock.now()
    return (error) => {
      const durationMs = clock.now() - startedAt
      return trace({ ...event, durationMs, ...(error === undefined ? {} : { error: String(error) }) })
    }
  }

  const readFile: Sandbox['readFile'] = (path, options = {}) =>
    tracedCall({ kind: 'file-read', path }, options, (normal, call) =>
      files.readFile(normal, { ...call, maxBytes: options.maxBytes ?? 64 * 1024 * 1024 }),
    )

  return {
    writeFile: (path, content, options = {}) =>
      tracedCall({ kind: 'file-write', path }, options, async (normal, call) => {
        const source = watchContent(content, call.signal)
        // What a source has to say goes before what a driver makes of it.
        await files
          .writeFile(normal, source.stream, { ...call, mode: options.mode ?? 0o644 })
          .finally(() => source.throwIfFailed())
      }),
    readFile,
    readText: async (path, options) => new TextDecoder().decode(await readFile(path, options)),
    async *readStream(path, options = {}) {
      const { normal, call } = limitCall(path, options)
      const finish = traceFrom({ kind: 'file-read', path })
      let thrown: unknown
      try {
        yield* files.readStream(normal, call)
        call.signal.throwIfAborted()
      } catch (error) {
        thrown = failure(error, path, call, options)
        throw thrown
      } finally {
        await finish(thrown)
      }
    },
    exists: (path, options = {}) => fileCall(path, options, (normal, call) => files.exists(normal, call)),
    upload: (hostPath, path, options = {}) =>
      tracedCall({ kind: 'file-upload', path, hostPath }, options, async (normal, call) => {
        await access(hostPath).catch((cause: unknown) => {
          throw new SandboxError('sandbox_file_not_found', `There is no ${hostPath} on this machine`, { cause })
        })
        await files.upload(hostPath, normal, call)
      }),
    download: (path, hostPath, options = {}) =>
      tracedCall({ kind: 'file-download', path, hostPath }, options, (normal, call) => {
        const { maxBytes = 4 * 1024 ** 3 } = options
        checkInteger('maxBytes', maxBytes, 0, Number.MAX_SAFE_INTEGER)
        return files.download(normal, hostPath, { ...call, maxBytes })
      }),
  }
}

/**
 * A content as a stream that breaks off when the call is aborted, also while
 * its source says nothing. To the other end of a connection a source that
 * failed looks like one that ended: `throwIfFailed` tells.
 */
function watchContent(
  content: FileContent,
  signal: AbortSignal,
): { stream: AsyncIterable<Uint8Array>; throwIfFailed(): void } {
  const source = typeof content === 'string' ? Buffer.from(content) : content
  let failed: { readonly error: unknown } | undefined
  async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      yield* source instanceof Uint8Array ? [source] : untilAborted(source, signal)
    } catch (error) {
      failed = { error }
      throw error
    }
  }
  return {
    stream: watched(),
    throwIfFailed() {
      if (failed !== undefined) throw failed.error
    },
  }
}

/** A text as a stream of one chunk. */
export async function* contentOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

/** Not `Readable.from` with a signal: that waits, before it ends, for a source that may say nothing for ever. */
async function* untilAborted(content: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const source = content[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await nextUnlessAborted(source, signal)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    source.return?.().catch(() => {})
  }
}

function nextUnlessAborted(
  source: AsyncIterator<Uint8Array>,
  signal: AbortSignal,
): Promise<IteratorResult<Uint8Array, unknown>> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    source
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** The result of a call, or its failure soon after the abort: a driver that hangs must not hold its caller. */
async function unlessAbandoned<T>(work: Promise<T>, signal: AbortSignal, abandonMs: number): Promise<T> {
  const settled = new AbortController()
  const abandoned = new Promise<never>((_, reject) => {
    const onAbort = (): void => {
      delay(abandonMs, undefined, { signal: settled.signal }).then(
        () => reject(signal.reason),
        () => {},
      )
    }
    signal.addEventListener('abort', onAbort, { once: true, signal: settled.signal })
    if (signal.aborted) onAbort()
  })
  try {
    return await Promise.race([work, abandoned])
  } finally {
    settled.abort()
    // An abandoned call fails later, and nobody waits for it but disposal.
    work.catch(() => {})
  }
}
