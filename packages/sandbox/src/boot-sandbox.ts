import type { Clock, Logger } from '@agentrl/spec'
import { sandboxId } from '@agentrl/spec'
import type { ResolvedBootOptions } from './boot-options.ts'
import { createSandbox } from './create-sandbox.ts'
import { createRedactor } from './redact.ts'
import type { Sandbox } from './sandbox.ts'
import type { SandboxBackend } from './sandbox-backend.ts'
import { createTrace } from './trace.ts'

export interface BootRequest {
  readonly driver: string
  readonly resolved: ResolvedBootOptions
  readonly createBackend: (resolved: ResolvedBootOptions) => Promise<SandboxBackend>
  readonly clock: Clock
  readonly logger: Logger
}

/** Boots a backend and makes a sandbox of it; a boot that was given up leaves nothing, and a failed one is traced. */
export async function bootSandbox(request: BootRequest): Promise<Sandbox> {
  const { driver, resolved, createBackend, clock, logger } = request
  const { signal, runDirectory, labels, egress, image, lifetimeMs } = resolved
  const startedAt = clock.now()
  signal?.throwIfAborted()
  let backend: SandboxBackend
  try {
    backend = await createBackend(resolved)
  } catch (error) {
    const failures = createTrace({ sandboxId: sandboxId(`${driver}-boot-failures`), runDirectory, clock, logger })
    await failures.write({
      kind: 'sandbox-boot-failed',
      driver,
      durationMs: clock.now() - startedAt,
      error: createRedactor(resolved.env)(String(error)),
    })
    throw error
  }
  const trace = createTrace({ sandboxId: backend.id, runDirectory, clock, logger })
  const sandbox = createSandbox(backend, { trace, clock, logger })
  await trace.write({
    kind: 'sandbox-boot',
    driver,
    labels,
    egress: egress.kind,
    ...(image === undefined ? {} : { image }),
    lifetimeMs,
    durationMs: clock.now() - startedAt,
  })
  if (signal?.aborted === true) {
    await sandbox[Symbol.asyncDispose]()
    throw signal.reason
  }
  return sandbox
}
