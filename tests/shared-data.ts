import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The large sets of recorded cases lie beside a checkout, in `../shared`, and
 * are not part of a user's clone. Tests that read them name their skip:
 * `test.skipIf(!hasSharedData('golden/lpt.jsonl'))('…')`.
 */
function sharedPath(name: string): string {
  return fileURLToPath(new URL(`../../shared/${name}`, import.meta.url))
}

export function hasSharedData(name: string): boolean {
  return existsSync(sharedPath(name))
}

/** The rows of a JSON lines file of `../shared`; no rows where the folder is absent. */
export function readSharedRows<Row>(name: string): Row[] {
  if (!hasSharedData(name)) return []
  return readFileSync(sharedPath(name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

/** Paths of the files below a folder of `../shared` that end in `suffix`; none where the folder is absent. */
export function listSharedFiles(folder: string, suffix: string): string[] {
  if (!hasSharedData(folder)) return []
  return readdirSync(sharedPath(folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .map((name) => `${folder}/${name}`)
    .sort()
}
