import { randomInt } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sandbox, SandboxDriver } from '../sandbox.ts'
import type { BootOptions, ExecOutcome } from '../sandbox-types.ts'

/** What the author of a driver gives to the conformance suite. */
export interface ConformanceSetup {
  readonly driver: SandboxDriver
  /** What a boot of this driver needs: an egress policy that it enforces, an image. */
  readonly boot: Omit<BootOptions, 'labels'>
  /** Whether this machine's /proc shows the processes of a sandbox. Default true. */
  readonly seesProcesses?: boolean
  /** Cases that this driver does not pass, by name, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>
}

/** A promise that every driver keeps. Needs no test framework: `run` rejects with an AssertionError. */
export interface ConformanceCase {
  readonly name: string
  /** Why the case can't be run with this driver; undefined: it has to pass. */
  skipReason(setup: ConformanceSetup): string | undefined
  run(setup: ConformanceSetup): Promise<void>
}

/** A case with one sandbox of its own, and a folder of the host that is removed afterwards. */
export interface CaseContext {
  readonly setup: ConformanceSetup
  readonly sandbox: Sandbox
  readonly hostFolder: string
}

export interface CaseOptions {
  readonly boot?: Partial<BootOptions>
  readonly skip?: (setup: ConformanceSetup) => string | undefined
}

/** Labels for the sandboxes of the suite. */
export const labels: BootOptions['labels'] = { run: 'conformance', attempt: '1' }

/** A case that gets a booted sandbox. */
export function sandboxCase(
  name: string,
  run: (context: CaseContext) => Promise<void>,
  options: CaseOptions = {},
): ConformanceCase {
  return plainCase(
    name,
    (setup) =>
      withHostFolder(async (hostFolder) => {
        const sandbox = await setup.driver.boot({ ...setup.boot, labels, ...options.boot })
        try {
          await run({ setup, sandbox, hostFolder })
        } finally {
          await sandbox[Symbol.asyncDispose]()
        }
      }),
    options.skip,
  )
}

/** A case that boots by itself. */
export function plainCase(
  name: string,
  run: (setup: ConformanceSetup) => Promise<void>,
  skip: (setup: ConformanceSetup) => string | undefined = () => undefined,
): ConformanceCase {
  return { name, run, skipReason: (setup) => setup.skip?.[name] ?? skip(setup) }
}

export async function withHostFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'agentrl-conformance-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A number of seconds that no other `sleep` on this machine has: it marks a process. */
export function uniqueSleep(): string {
  return `${randomInt(10_000, 90_000)}.${randomInt(1_000_000_000)}`
}

/** How many processes of this machine have `word` as an argument. */
async function countProcesses(word: string): Promise<number> {
  const names = await readdir('/proc')
  const commands = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')),
  )
  return commands.filter((command) => command.split('\0').includes(word)).length
}

/** Waits until `count` processes of this machine have `word` as an argument, and gives the number at last. */
export async function settleProcesses(word: string, count: number, waitMs = 5_000): Promise<number> {
  const endsAt = performance.now() + waitMs
  let found = await countProcesses(word)
  while (found !== count && performance.now() < endsAt) {
    await delay(10)
    found = await countProcesses(word)
  }
  return found
}

export function needsProc(setup: ConformanceSetup): string | undefined {
  return (setup.seesProcesses ?? true) && process.platform === 'linux'
    ? undefined
    : 'the processes of a sandbox are not visible on this machine'
}

/** For assertions: the kind, with the exit code where there is one. */
export function ending(outcome: ExecOutcome): string {
  return outcome.kind === 'exited' ? `exited ${outcome.exitCode}` : outcome.kind
}
