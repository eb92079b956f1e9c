import { type Clock, type Logger, silentLogger, systemClock } from '@agentrl/spec'
import { isOwnerAlive } from './process-owner.ts'
import type { SandboxDriver } from './sandbox.ts'
import type { SandboxRecord } from './sandbox-types.ts'

export interface SweepOptions {
  readonly drivers: readonly SandboxDriver[]
  /**
   * Whether the owner of a sandbox still needs it; undefined: can't say. Default:
   * `isOwnerAlive`, which knows the processes of this host.
   */
  readonly isAlive?: (record: SandboxRecord) => boolean | undefined
  /** Only look, remove nothing. Default false. */
  readonly dryRun?: boolean
  readonly clock?: Clock
  readonly logger?: Logger
}

/** What a sweep found. `removed` holds what would be removed when nothing is removed. */
export interface SweepReport {
  readonly removed: readonly SandboxRecord[]
  readonly kept: readonly SandboxRecord[]
  /** Drivers that could not be asked, and sandboxes that could not be removed. */
  readonly failures: readonly { readonly driver: string; readonly id?: string; readonly error: string }[]
}

/** After its time a sandbox has this long to be removed by its owner. */
const graceMs = 60_000

/**
 * Finds the sandboxes of runs that are dead and ends them: those whose owner is
 * known to be gone, and those whose time was over more than a minute ago,
 * whoever owns them. Removes one after the other, so that a start with many
 * orphans stays gentle with a daemon. Never rejects.
 */
export async function sweepOrphans(options: SweepOptions): Promise<SweepReport> {
  const { drivers, dryRun = false, clock = systemClock, logger = silentLogger } = options
  const { isAlive = (record) => isOwnerAlive(record.labels.owner) } = options
  const removed: SandboxRecord[] = []
  const kept: SandboxRecord[] = []
  const failures: { driver: string; id?: string; error: string }[] = []

  async function sweepDriver(driver: SandboxDriver): Promise<void> {
    for (const record of await driver.list()) {
      const isOrphan = isAlive(record) === false || record.endsAt + graceMs < clock.now()
      if (!isOrphan) {
        kept.push(record)
        continue
      }
      try {
        if (!dryRun) await driver.remove(record)
        removed.push(record)
        logger.info('an orphaned sandbox was removed', { driver: driver.name, id: record.id, dryRun, ...record.labels })
      } catch (error) {
        failures.push({ driver: driver.name, id: record.id, error: String(error) })
      }
    }
  }

  for (const driver of drivers) {
    await sweepDriver(driver).catch((error: unknown) => {
      failures.push({ driver: driver.name, error: String(error) })
    })
  }
  for (const failure of failures) logger.warn('a sweep failed in part', failure)
  return { removed, kept, failures }
}
