import { basename, join } from 'node:path'
import { TaskError } from '@agentrl/spec'
import type { HarborTask } from './harbor-task.ts'

interface ImageOptions {
  readonly images?: Readonly<Record<string, string>>
  readonly imageTemplate?: string
}

/** What an image name may hold: lower case, and no separator at its ends or twice. */
function imageName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9./_-]+/g, '-')
    .replace(/([./_-])[./_-]+/g, '$1')
  return name.replace(/^[./_-]+|[./_-]+$/g, '') || 'task'
}

function fillTemplate(template: string, task: HarborTask): string {
  const values: Readonly<Record<string, string>> = {
    name: imageName(task.name),
    directory: imageName(basename(task.directory)),
    digest: task.environmentDigest.slice(0, 12),
  }
  return template.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole)
}

function ownEntry(images: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(images, key) ? images[key] : undefined
}

/**
 * Decides which image a task starts from, and whether it has to be built:
 *
 *   the caller's map > docker_image > a Dockerfile that only says FROM (with
 *   WORKDIR and ENV): that base > the caller's template > a tag to be built
 *
 * Throws `task_invalid` where the task names nothing to start from.
 */
export function resolveImage(
  task: HarborTask,
  { images = {}, imageTemplate }: ImageOptions,
): { image: string; needsBuild: boolean } {
  const mapped = ownEntry(images, task.name) ?? ownEntry(images, basename(task.directory))
  if (mapped !== undefined) return { image: mapped, needsBuild: false }
  if (task.environment.dockerImage !== null) return { image: task.environment.dockerImage, needsBuild: false }
  const { dockerfile } = task
  if (dockerfile === null && task.composeFile === null) {
    throw new TaskError(
      'task_invalid',
      `${join(task.directory, 'environment')} has no Dockerfile with a FROM, and task.toml no environment.docker_image: add one of them, or map the task to an image`,
      { details: { path: task.directory } },
    )
  }
  if (dockerfile?.base != null && dockerfile.buildInstruction === null && dockerfile.copies.length === 0) {
    return { image: dockerfile.base, needsBuild: false }
  }
  if (imageTemplate !== undefined) return { image: fillTemplate(imageTemplate, task), needsBuild: false }
  return { image: fillTemplate('agentrl/{name}:{digest}', task), needsBuild: dockerfile !== null }
}
