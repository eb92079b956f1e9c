import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { excerpt, isAgentRlError, TaskError } from '@agentrl/spec'
import { parse } from 'smol-toml'
import { digestDirectory } from './digest-directory.ts'
import type { HarborConfig, HarborTask } from './harbor-task.ts'
import { instructionText } from './instruction-text.ts'
import { parseDockerfile } from './parse-dockerfile.ts'
import { readTaskToml } from './wire.ts'

const composeNames = ['docker-compose.yaml', 'docker-compose.yml', 'compose.yaml', 'compose.yml']

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** The text of a file; null where there is none. Throws `task_invalid` where it can't be read or is not UTF-8. */
async function readText(path: string): Promise<string | null> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(path))
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    const problem = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not UTF-8 text' : `can't be read (${code})`
    throw new TaskError('task_invalid', `${path} ${problem}`, { cause: error, details: { path } })
  }
}

async function readRequiredText(path: string, hint: string): Promise<string> {
  const text = await readText(path)
  if (text !== null) return text
  throw new TaskError('task_invalid', `${path} is missing: ${hint}`, { details: { path } })
}

async function kindOf(path: string): Promise<'file' | 'directory' | 'other' | 'absent'> {
  try {
    const stats = await stat(path)
    if (stats.isFile()) return 'file'
    return stats.isDirectory() ? 'directory' : 'other'
  } catch {
    return 'absent'
  }
}

async function readConfig(directory: string): Promise<HarborConfig> {
  const path = join(directory, 'task.toml')
  const text = await readRequiredText(path, 'a Harbor task has a task.toml beside its instruction.md')
  let raw: unknown
  try {
    raw = parse(text, { integersAsBigInt: 'asNeeded' })
  } catch (error) {
    const [problem = ''] = (error instanceof Error ? error.message : '').split('\n')
    const place = error instanceof Error && 'line' in error ? `:${error.line}` : ''
    const message = `${path}${place} is not TOML: ${excerpt(problem.replace(/^Invalid TOML document: /, ''))}`
    throw new TaskError('task_invalid', message, { cause: error, details: { path } })
  }
  return readTaskToml(raw, path)
}

/** `problem_statement` of tests/config.json. Nothing else of that file is read: it holds the gold patch. */
async function readProblemStatement(directory: string): Promise<string | null> {
  const text = await readText(join(directory, 'tests', 'config.json'))
  if (text === null) return null
  try {
    const raw: unknown = JSON.parse(text)
    const statement = typeof raw === 'object' && raw !== null ? Reflect.get(raw, 'problem_statement') : null
    return typeof statement === 'string' ? statement : null
  } catch {
    return null
  }
}

async function requireVerifier(directory: string, config: HarborConfig): Promise<void> {
  if (config.steps.length > 0 || config.verifier.isSeparate) return
  const path = join(directory, 'tests', config.environment.os === 'windows' ? 'test.bat' : 'test.sh')
  if ((await kindOf(path)) === 'file') return
  throw new TaskError('task_invalid', `${path} is missing: without it no attempt can be graded`, { details: { path } })
}

/**
 * Reads a task directory of any Harbor schema version: task.toml,
 * instruction.md, environment/, tests/. The solution is not read, but counts
 * in the digest. Linear in the bytes of the directory.
 *
 * Throws `task_not_found` where there is no directory, and `task_invalid`, in
 * one line, where it breaks the format. A valid task that we can't run is read:
 * `convertHarborTask` refuses it.
 */
export async function readHarborTask(directory: string): Promise<HarborTask> {
  const root = resolve(directory)
  if ((await kindOf(root)) !== 'directory') {
    throw new TaskError('task_not_found', `There is no task directory at ${root}: check the path`, {
      details: { path: root },
    })
  }
  try {
    return await readTask(root)
  } catch (error) {
    if (isAgentRlError(error)) throw error
    throw new TaskError('task_invalid', `${root} can't be read (${codeOf(error) ?? 'unknown'})`, {
      cause: error,
      details: { path: root },
    })
  }
}

async function readTask(root: string): Promise<HarborTask> {
  const config = await readConfig(root)
  const environmentDirectory = join(root, 'environment')
  if ((await kindOf(environmentDirectory)) !== 'directory') {
    throw new TaskError('task_invalid', `${environmentDirectory} is missing: a Harbor task has an environment folder`, {
      details: { path: environmentDirectory },
    })
  }
  await requireVerifier(root, config)
  const isMultiStep = config.steps.length > 0
  const instructionPath = join(root, 'instruction.md')
  const instruction = isMultiStep
    ? ''
    : instructionText(await readRequiredText(instructionPath, 'it is what the agent is asked to do'))
  if (!isMultiStep && instruction.trim() === '') {
    throw new TaskError('task_invalid', `${instructionPath} asks for nothing: write what the agent is to do`, {
      details: { path: instructionPath },
    })
  }
  const environmentFiles = await readdir(environmentDirectory)
  const dockerfile = await readText(join(environmentDirectory, 'Dockerfile'))
  return {
    ...config,
    directory: root,
    name: config.packageName ?? basename(root),
    instruction,
    problemStatement: await readProblemStatement(root),
    hasTrajectory: (await kindOf(join(root, 'trajectory.json'))) !== 'absent',
    dockerfile: dockerfile === null ? null : parseDockerfile(dockerfile),
    composeFile: composeNames.find((name) => environmentFiles.includes(name)) ?? null,
    hasDockerIgnore: environmentFiles.some((name) => name.endsWith('.dockerignore')),
    hasEnvironmentFiles: environmentFiles.length > 0,
    digest: await digestDirectory(root),
    environmentDigest: await digestDirectory(environmentDirectory),
  }
}
