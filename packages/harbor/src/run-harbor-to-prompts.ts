import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, isAgentRlError } from '@agentrl/spec'
import { type ConvertDatasetOptions, convertHarborDataset, type HarborConversion } from './convert-harbor-dataset.ts'
import { type LiftableReason, liftableReasons, refusalMeanings } from './refusals.ts'
import { readImageMap } from './wire.ts'

export const usage: string = `Usage: harbor-to-prompts DIR [--out FILE] [options]

Writes one JSON line (prompt, label, metadata) for each Harbor task at or below DIR.
A task that can't be used is reported on stderr with its reason; the others are written.

  --out FILE            Where the lines go. Default: stdout
  --image-map FILE      JSON object: image by instance id or by name of the task directory
  --image-template T    Image of a task that would have to be built; {name}, {directory}
                        and {digest} are filled in, e.g. registry.example/{directory}:latest
  --default-workdir D   Folder for a task that names none. Default: the image's own
  --accept REASON       Take tasks with this reason too: ${liftableReasons.join(', ')}. May be repeated
  --check-env           Refuse tasks that read a variable which is not set here
  --git-url URL         Repository that DIR was fetched from, for the rows
  --git-commit ID       Its commit
  --relative-to DIR     Write paths relative to DIR. Default: absolute paths
  --allow-refused       Exit 0 although tasks were refused
  --help

Reasons: ${Object.entries(refusalMeanings)
  .map(([reason, meaning]) => `${reason}: ${meaning}`)
  .join('\n         ')}

Exit codes: 0 all tasks were written, 1 a task was refused or the run failed, 2 wrong usage
`

export interface HarborToPromptsContext {
  readonly hostEnv: Readonly<Record<string, string | undefined>>
  /** Standard output: the rows. */
  readonly print: (text: string) => void
  /** Standard error: the report. */
  readonly report: (text: string) => void
}

function parseFlags(argv: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      out: text,
      'image-map': text,
      'image-template': text,
      'default-workdir': text,
      accept: { type: 'string', multiple: true, default: [] },
      'check-env': flag,
      'git-url': text,
      'git-commit': text,
      'relative-to': text,
      'allow-refused': flag,
      help: flag,
    },
  })
}
type Flags = ReturnType<typeof parseFlags>['values']

function acceptedReasons(names: readonly string[]): LiftableReason[] {
  return names.map((name) => {
    const reason = liftableReasons.find((known) => known === name)
    if (reason) return reason
    throw new ConfigError('config_invalid', `--accept: expected ${liftableReasons.join(', ')}; found "${name}"`)
  })
}

async function datasetOptions(
  flags: Flags,
  hostEnv: HarborToPromptsContext['hostEnv'],
): Promise<ConvertDatasetOptions> {
  if (flags['git-commit'] !== undefined && flags['git-url'] === undefined) {
    throw new ConfigError('config_invalid', '--git-commit: add --git-url, so that the commit can be found')
  }
  const mapPath = flags['image-map']
  const commit = flags['git-commit']
  return {
    accept: acceptedReasons(flags.accept),
    ...(mapPath === undefined ? {} : { images: readImageMap(await readFileText(mapPath), mapPath) }),
    ...(flags['image-template'] === undefined ? {} : { imageTemplate: flags['image-template'] }),
    ...(flags['default-workdir'] === undefined ? {} : { defaultWorkdir: flags['default-workdir'] }),
    ...(flags['relative-to'] === undefined ? {} : { relativeTo: flags['relative-to'] }),
    ...(flags['check-env'] ? { hostEnv } : {}),
    ...(flags['git-url'] === undefined
      ? {}
      : { registry: { gitUrl: flags['git-url'], ...(commit === undefined ? {} : { gitCommitId: commit }) } }),
  }
}

async function readFileText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError('config_invalid', `--image-map: ${path} can't be read: check the path`, { cause: error })
  }
}

/** Where lines go. A file appears under its name when it is whole; until then it is `FILE.partial`. */
interface Output {
  write(line: string): Promise<void>
  /** Ends the output; `isWhole` gives the file its name. */
  close(isWhole: boolean): Promise<void>
}

async function openOutput(out: string, print: (text: string) => void): Promise<Output> {
  if (out === '-') return { write: async (line) => print(line), close: async () => {} }
  const path = resolve(out)
  const partial = `${path}.partial`
  await mkdir(dirname(path), { recursive: true })
  const file = await open(partial, 'w')
  return {
    write: async (line) => {
      await file.appendFile(line)
    },
    close: async (isWhole) => {
      await file.close()
      if (isWhole) await rename(partial, path)
    },
  }
}

/** Writes what becomes of each task; a failure on the way leaves what was finished in `FILE.partial`. */
export async function writeRows(
  conversions: AsyncIterable<HarborConversion>,
  out: string,
  { print, report }: HarborToPromptsContext,
): Promise<{ written: number; refused: number }> {
  const counts = { written: 0, refused: 0 }
  let output: Output | null = null
  let isWhole = false
  try {
    for await (const conversion of conversions) {
      output ??= await openOutput(out, print)
      if (conversion.kind === 'row') {
        counts.written += 1
        await output.write(`${JSON.stringify(conversion.row)}\n`)
      } else {
        counts.refused += 1
        report(`refused: ${conversion.message}\n`)
      }
    }
    isWhole = true
  } finally {
    await output?.close(isWhole)
  }
  return counts
}

/** The program `harbor-to-prompts`. Gives its exit code; throws only for a bug of ours. */
export async function runHarborToPrompts(argv: readonly string[], context: HarborToPromptsContext): Promise<number> {
  let flags: ReturnType<typeof parseFlags>
  try {
    flags = parseFlags(argv)
  } catch (error) {
    context.report(`${error instanceof Error ? error.message : String(error)}. See --help\n`)
    return 2
  }
  if (flags.values.help) {
    context.print(usage)
    return 0
  }
  const [directory, ...more] = flags.positionals
  if (directory === undefined || more.length > 0) {
    context.report(`Expected one folder with tasks, found ${flags.positionals.length}. See --help\n`)
    return 2
  }
  try {
    const options = await datasetOptions(flags.values, context.hostEnv)
    const out = flags.values.out ?? '-'
    const { written, refused } = await writeRows(convertHarborDataset(directory, options), out, context)
    context.report(`${written} rows written to ${out === '-' ? 'stdout' : out}, ${refused} tasks refused\n`)
    return refused > 0 && !flags.values['allow-refused'] ? 1 : 0
  } catch (error) {
    const isOurs = isAgentRlError(error)
    if (!isOurs && !(error instanceof Error && 'syscall' in error)) throw error
    context.report(`${error.message}\n`)
    return isOurs && error.code.startsWith('config_') ? 2 : 1
  }
}
