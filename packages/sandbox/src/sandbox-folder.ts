import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, SandboxError, type SandboxId, sandboxId } from '@agentrl/spec'
import { execa } from 'execa'
import type { ResolvedBootOptions } from './boot-options.ts'
import type { SandboxRecord } from './sandbox-types.ts'

/**
 * Where the drivers of this host keep their sandboxes:
 *
 *     <base>/<id>/sandbox.json   who it belongs to; what `list` and the sweep read
 *     <base>/<id>/root/          what the sandbox sees as its own
 */
export interface SandboxFolder {
  readonly id: SandboxId
  readonly folder: string
  readonly root: string
  /** Says in the record that the life ends later. */
  extendLifetime(lifetimeMs: number): Promise<void>
  /** Removes the folder and everything in it. */
  remove(): Promise<void>
}

/** Makes the folder of a new sandbox with an id of its own. Throws `sandbox_boot_failed`. */
export async function createSandboxFolder(
  base: string,
  driver: string,
  options: ResolvedBootOptions,
  clock: Clock,
): Promise<SandboxFolder> {
  const id = sandboxId(`${driver}-${randomBytes(6).toString('hex')}`)
  const folder = join(base, id)
  const createdAt = clock.now()
  const writeRecord = (lifetimeMs: number): Promise<void> => {
    const record = { version: 1, id, driver, labels: options.labels, createdAt, endsAt: clock.now() + lifetimeMs }
    return writeFile(join(folder, 'sandbox.json'), `${JSON.stringify(record)}\n`)
  }
  try {
    await mkdir(base, { recursive: true, mode: 0o700 })
    await mkdir(folder, { mode: 0o700 })
    await mkdir(join(folder, 'root'), { mode: 0o755 })
    await writeRecord(options.lifetimeMs)
  } catch (cause) {
    await removeFolder(folder)
    throw new SandboxError('sandbox_boot_failed', `The folder ${folder} could not be made: ${String(cause)}`, { cause })
  }
  return { id, folder, root: join(folder, 'root'), extendLifetime: writeRecord, remove: () => removeFolder(folder) }
}

/**
 * The records of all sandboxes below `base`. A folder without a record, whose
 * maker died between two system calls, counts as owned by nobody and is due
 * for removal when it is a minute old.
 */
export async function listSandboxFolders(base: string, driver: string): Promise<readonly SandboxRecord[]> {
  const names = await readdir(base).catch(() => [])
  const records = await Promise.all(
    names.filter((name) => name.startsWith(`${driver}-`)).map((name) => readRecord(base, name, driver)),
  )
  return records.flatMap((record) => record ?? [])
}

async function readRecord(base: string, name: string, driver: string): Promise<SandboxRecord | undefined> {
  const folder = join(base, name)
  try {
    const raw: unknown = JSON.parse(await readFile(join(folder, 'sandbox.json'), 'utf8'))
    if (isRecord(raw) && raw.id === name && raw.driver === driver) return raw
  } catch {
    // No record, or half of one.
  }
  const found = await stat(folder).catch(() => undefined)
  if (found === undefined) return undefined
  const labels = { owner: 'unknown', run: 'unknown', attempt: 'unknown' }
  return { id: sandboxId(name), driver, labels, createdAt: found.mtimeMs, endsAt: found.mtimeMs }
}

function isRecord(raw: unknown): raw is SandboxRecord {
  const record = raw as Partial<SandboxRecord> | null
  return (
    typeof record === 'object' &&
    record !== null &&
    typeof record.labels?.owner === 'string' &&
    typeof record.labels.run === 'string' &&
    typeof record.labels.attempt === 'string' &&
    typeof record.createdAt === 'number' &&
    typeof record.endsAt === 'number'
  )
}

/**
 * Removes a folder, whatever a command made of it: also when it took its own
 * rights on parts of it away, and when it nested folders deeper than a path is
 * long, which Node names by their paths and the program `rm` does not.
 */
export async function removeFolder(folder: string): Promise<void> {
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 })
  await remove().catch(async () => {
    await execa('chmod', ['-R', 'u+rwX', folder], { reject: false })
    await execa('rm', ['-rf', '--', folder], { reject: false })
    await remove()
  })
}
