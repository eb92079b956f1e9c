import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** The folder with one task for each schema version and refusal reason. */
export const fixtureTasks: string = fileURLToPath(new URL('./tasks', import.meta.url))

/** A small valid task; a test overrides or removes (null) its files. */
const validTask: Readonly<Record<string, string>> = {
  'task.toml': 'version = "1.0"\n',
  'instruction.md': 'Do it.\n',
  'environment/Dockerfile': 'FROM ubuntu:24.04\nWORKDIR /app\n',
  'tests/test.sh': '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n',
}

/** A temporary folder that goes when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentrl-harbor-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Writes a task and gives its folder. */
export async function writeTask(
  files: Readonly<Record<string, string | Uint8Array | null>> = {},
  folder?: string,
): Promise<string> {
  const root = folder ?? join(await temporaryFolder(), 'a-task')
  for (const [path, content] of Object.entries({ ...validTask, ...files })) {
    if (content === null) continue
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  return root
}
