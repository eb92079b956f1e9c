/**
 * What a stranger gets: packs every package, looks into the tarballs (publint,
 * attw, their files), and uses them in projects outside the workspace. Needs a
 * finished build and pnpm on the PATH; `npm` fetches TypeScript 5.6 and 5.9.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createChecks, runProgram } from './checks.mjs'
import { checkCoreStranger, checkEntriesStranger, installTypeScripts } from './stranger-projects.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const packed = join(root, '.cache', 'packed')

function publicPackages() {
  return readdirSync(join(root, 'packages'))
    .map((folder) => ({ folder: join(root, 'packages', folder) }))
    .map(({ folder }) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }))
    .filter(({ manifest }) => manifest.private !== true)
}

async function pack({ folder, manifest }) {
  const output = await runProgram('pnpm', ['pack', '--json', '--pack-destination', packed], { cwd: folder })
  const tarball = resolve(packed, JSON.parse(output).filename)
  const listing = await runProgram('tar', ['-tzf', tarball])
  const text = await runProgram('tar', ['-xOzf', tarball, 'package/package.json'])
  const files = listing.trim().split('\n')
  return {
    name: manifest.name,
    tarball,
    files: files.map((path) => path.replace(/^package\//, '')),
    manifest: JSON.parse(text),
  }
}

/** Problems of a tarball that no linter knows of. */
function findProblems({ files, manifest }) {
  const missing = ['README.md', 'LICENSE', 'package.json'].filter((file) => !files.includes(file))
  const unwanted = files.filter((file) => /(^|\/)(src|__fixtures__|node_modules)\/|\.test\.|\.tsbuildinfo$/.test(file))
  const text = JSON.stringify({ ...manifest, publishConfig: undefined })
  return [
    ...missing.map((file) => `${file} is missing`),
    ...unwanted.map((file) => `${file} should not be packed`),
    ...(text.includes('@agentrl/source') ? ['its exports lead to sources: set publishConfig.exports'] : []),
    ...(text.includes('workspace:') ? ['a dependency still says workspace:'] : []),
    ...(manifest.engines?.node === '>=20.19' ? [] : ['engines.node is not >=20.19']),
  ]
}

const { check, finish } = createChecks()
rmSync(packed, { recursive: true, force: true })
mkdirSync(packed, { recursive: true })

const tarballs = []
for (const source of publicPackages()) {
  const { name } = source.manifest
  const tarball = await check(`${name} packs`, () => pack(source))
  if (tarball === null) continue
  tarballs.push(tarball)
  const binary = (tool) => join(root, 'node_modules', '.bin', tool)
  await check(`${name}: publint`, () => runProgram(binary('publint'), ['run', tarball.tarball, '--strict']))
  await check(`${name}: types are right for every resolution`, () =>
    runProgram(binary('attw'), [
      tarball.tarball,
      '--profile',
      'esm-only',
      '--no-definitely-typed',
      '--format',
      'ascii',
    ]),
  )
  await check(`${name}: nothing is missing or too much in the tarball`, () => {
    const problems = findProblems(tarball)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })
}

const typeScripts = await check('TypeScript 5.6 and 5.9 install', () => installTypeScripts(join(root, '.cache')))
if (typeScripts !== null) {
  const readmes = ['README.md', 'packages/core/README.md'].map((path) => join(root, path))
  await checkCoreStranger({ check, tarballs, typeScripts, readmes })
  await checkEntriesStranger({ check, tarballs, typeScripts })
}
finish()
