import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execAndWait } from '../exec-and-wait.ts'
import { type ConformanceCase, labels, plainCase, withHostFolder } from './conformance-case.ts'

const secret = 'hunter2-hunter2'

async function readTrace(runDirectory: string): Promise<readonly Record<string, unknown>[]> {
  const folder = join(runDirectory, 'sandboxes')
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  return texts
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** What the trace tells. */
export const traceCases: readonly ConformanceCase[] = [
  plainCase('the trace tells of boot, commands, files and end, failures included, and no secret', (setup) =>
    withHostFolder(async (runDirectory) => {
      const env = { SERVICE_API_KEY: secret }
      const sandbox = await setup.driver.boot({ ...setup.boot, labels, runDirectory, env })
      try {
        await sandbox.exec('echo "$SERVICE_API_KEY"; echo Bearer abcdefghijkl >&2; exit 4')
        await sandbox.exec('false', { check: true }).catch(() => {})
        await sandbox.writeFile('/app/data', 'x')
        await sandbox.readFile('/app/none').catch(() => {})
        await execAndWait(sandbox, 'echo "$SERVICE_API_KEY long"')
      } finally {
        await sandbox[Symbol.asyncDispose]()
      }
      const lines = await readTrace(runDirectory)
      assert.deepEqual(
        lines.map(({ kind }) => kind),
        ['sandbox-boot', 'exec-end', 'exec-end', 'file-write', 'file-read', 'exec-end', 'sandbox-end'],
      )
      assert.ok(
        lines.every((line) => line.version === 1 && line.sandbox === sandbox.id && typeof line.time === 'number'),
      )
      assert.equal(lines[1]?.exitCode, 4)
      assert.equal(lines[1]?.stdoutTail, '[redacted]\n')
      assert.equal(lines[1]?.stderrTail, '[redacted]\n')
      assert.equal(lines[2]?.exitCode, 1)
      assert.match(String(lines[4]?.error), /no file/)
      assert.equal(lines[5]?.stdoutTail, '[redacted] long\n')
      assert.doesNotMatch(JSON.stringify(lines), new RegExp(secret))
    }),
  ),
]
