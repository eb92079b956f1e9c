import { createBubblewrapDriver, createLocalDriver, type SandboxDriver, sweepOrphans } from '@agentrl/sandbox'
import { ConfigError } from '@agentrl/spec'
import { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { formatTable } from '../table.ts'

interface DoctorFlags {
  readonly sweep: boolean
  readonly sandboxFolder?: string
  readonly dockerHost?: string
}

export function doctorCommand({ output, setExitCode }: CommandContext): Command {
  return new Command('doctor')
    .description('Looks for what dead runs left behind: sandboxes without an owner, or beyond their time.')
    .option('--sweep', 'end them and remove what they left', false)
    .option('--sandbox-folder <dir>', 'where local and bubblewrap sandboxes have their folders')
    .option('--docker-host <address>', 'look at this Docker daemon too, for example unix:///var/run/docker.sock')
    .action(async (flags: DoctorFlags) => {
      const report = await sweepOrphans({ drivers: await driversOf(flags), dryRun: !flags.sweep })
      const rows = report.removed.map(({ id, driver, labels }) => [
        id,
        driver,
        labels.run,
        labels.attempt,
        labels.owner,
      ])
      if (rows.length > 0) output.out(`${formatTable(['sandbox', 'driver', 'run', 'attempt', 'owner'], rows)}\n`)
      for (const { driver, id, error } of report.failures)
        output.err(`${driver}${id === undefined ? '' : ` ${id}`}: ${error}\n`)
      const verb = flags.sweep ? 'removed' : 'found; --sweep removes them'
      output.err(`${report.kept.length} sandboxes in use, ${report.removed.length} orphans ${verb}\n`)
      if (report.failures.length > 0) setExitCode(1)
    })
}

async function driversOf({ sandboxFolder, dockerHost }: DoctorFlags): Promise<readonly SandboxDriver[]> {
  const place = sandboxFolder === undefined ? {} : { folder: sandboxFolder }
  const near = [createLocalDriver(place), createBubblewrapDriver(place)]
  return dockerHost === undefined ? near : [...near, await dockerDriver(dockerHost)]
}

/** The docker driver needs a package that not everybody has. */
async function dockerDriver(host: string): Promise<SandboxDriver> {
  const { createDockerDriver } = await import('@agentrl/sandbox/docker').catch((cause: unknown) => {
    throw new ConfigError('config_invalid', '--docker-host needs the package dockerode: npm install dockerode', {
      cause,
    })
  })
  return createDockerDriver({ host })
}
