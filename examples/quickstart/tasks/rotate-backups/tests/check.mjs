import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const [app] = process.argv.slice(2)
const days = ['backup-2025-11-01.tar', 'backup-2025-11-02.tar', 'backup-2025-11-10.tar']
const others = ['backup notes.txt', 'backup-2025-11-01.tar.log', 'my backup-2025-11-01.tar', 'zebra']
const cases = [
  ['keeps the newest two', days, 2, days.slice(1)],
  ['keeps the newest one', days, 1, days.slice(2)],
  ['keeps none', days, 0, []],
  ['keeps all when there are fewer', days, 10, days],
  ['leaves other files alone', [...days, ...others], 1, [...days.slice(2), ...others]],
  ['accepts a folder without backups', others, 1, others],
  ['accepts an empty folder', [], 3, []],
]

const root = mkdtempSync(join(tmpdir(), 'rotate '))
const failures = cases.filter(([name, files, keep, expected], index) => {
  const folder = join(root, `folder ${index}`)
  mkdirSync(folder)
  for (const file of files) writeFileSync(join(folder, file), '')
  const { status } = spawnSync('bash', [join(app, 'rotate.sh'), folder, String(keep)], { stdio: 'ignore' })
  const left = readdirSync(folder).sort()
  const isRight = status === 0 && JSON.stringify(left) === JSON.stringify([...expected].sort())
  if (!isRight) console.log(`${name}: exit code ${status}, left ${JSON.stringify(left)}`)
  return !isRight
})
rmSync(root, { recursive: true })
process.exitCode = failures.length === 0 ? 0 : 1
