/**
 * Projects of a stranger, in temporary folders outside the workspace, made of
 * packed tarballs and the registry alone.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from './checks.mjs'

const typeScriptVersions = ['5.6.3', '5.9.3']
const nodeTypes = '@types/node@20.19.43'

/** Installs the compilers in a folder of their own, once. Gives `{ version, compiler, typeRoots }` for each. */
export async function installTypeScripts(cache) {
  const folder = join(cache, 'stranger-typescripts')
  const aliases = typeScriptVersions.map((version) => `typescript-${version}@npm:typescript@${version}`)
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'node_modules', '@types', 'node'))) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    await npmInstall(folder, [...aliases, nodeTypes])
  }
  return typeScriptVersions.map((version) => ({
    version,
    compiler: join(folder, 'node_modules', `typescript-${version}`, 'bin', 'tsc'),
    typeRoots: join(folder, 'node_modules', '@types'),
  }))
}

function npmInstall(cwd, specifiers) {
  const flags = ['--no-audit', '--no-fund', '--no-update-notifier', '--prefer-offline', '--ignore-scripts']
  return runProgram('npm', ['install', ...flags, ...specifiers], { cwd })
}

/** Makes a project with tarballs installed, hands it to `use`, and removes it. */
async function withProject({ tarballs, use }) {
  const folder = mkdtempSync(join(tmpdir(), 'stranger-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    await npmInstall(
      folder,
      tarballs.map(({ tarball }) => tarball),
    )
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A package and what it needs of the other tarballs. */
function closureOf(name, tarballs, seen = new Set()) {
  const own = tarballs.find((tarball) => tarball.name === name)
  if (own === undefined || seen.has(own)) return seen
  seen.add(own)
  for (const dependency of Object.keys(own.manifest.dependencies ?? {})) closureOf(dependency, tarballs, seen)
  return seen
}

/** Compiles `files` (name → text) under one TypeScript, strict, declarations of packages included. */
async function compile(folder, files, { version, compiler, typeRoots }) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    module: 'NodeNext',
    target: 'ES2022',
    typeRoots: [typeRoots],
    types: ['node'],
    outDir: `out-${version}`,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }))
  await runProgram(process.execPath, [compiler, '-p', folder], { cwd: folder })
  return join(folder, `out-${version}`)
}

const root = fileURLToPath(new URL('..', import.meta.url))
const goldenStranger = join(root, 'scripts', 'golden-stranger.mjs')
/** An excerpt that every clone has, and the whole recorded set where it lies beside the checkout. */
const goldenFiles = [
  join(root, 'packages', 'core', 'src', 'alignment', '__fixtures__', 'trajectory-rerender-excerpt.json'),
  join(root, '..', 'shared', 'golden', 'trajectory-rerender.jsonl'),
].filter(existsSync)

const executableMarks = ['7f454c46', 'cffaedfe', 'cefaedfe', 'feedfacf', 'cafebabe']

/** Files below a folder that are, or would build, machine code. */
export function findNativeFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      if (/\.(node|dll|dylib|so)$|(^|\/)binding\.gyp$/.test(path)) return true
      const bytes = Buffer.alloc(4)
      const file = openSync(path)
      readSync(file, bytes, 0, 4, 0)
      closeSync(file)
      return executableMarks.includes(bytes.toString('hex')) || bytes.toString('latin1', 0, 2) === 'MZ'
    })
}

/** TypeScript examples of a README that import nothing but `@agentrl/core`. */
export function examplesOf(readme) {
  if (!existsSync(readme)) return []
  return [...readFileSync(readme, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm)]
    .map((match) => match[1])
    .filter((text) => {
      const imported = [...text.matchAll(/from '([^']+)'/g)].map((match) => match[1])
      return imported.length > 0 && imported.every((name) => name === '@agentrl/core')
    })
}

/** Somebody who wants `@agentrl/core` alone: its closure, no machine code, and the examples of the READMEs run. */
export async function checkCoreStranger({ check, tarballs, typeScripts, readmes }) {
  const closure = [...closureOf('@agentrl/core', tarballs)]
  await check('a stranger installs @agentrl/core alone', async () => {
    if (closure.length === 0) throw new Error('there is no package @agentrl/core')
    await withProject({
      tarballs: closure,
      use: async (folder) => {
        await check('@agentrl/core brings no native binary', () => {
          const found = findNativeFiles(join(folder, 'node_modules'))
          if (found.length > 0) throw new Error(found.join('\n'))
        })
        for (const rows of goldenFiles) {
          await check(`the packed @agentrl/core equals ${basename(rows)}`, async () => {
            copyFileSync(goldenStranger, join(folder, 'golden.mjs'))
            await runProgram(process.execPath, ['golden.mjs', rows], { cwd: folder })
          })
        }
        const examples = readmes.flatMap(examplesOf)
        await check('the READMEs have an example of @agentrl/core', () => {
          if (examples.length === 0)
            throw new Error(`no \`\`\`ts block with @agentrl/core alone in ${readmes.join(', ')}`)
        })
        const files = Object.fromEntries(examples.map((text, index) => [`example-${index + 1}.ts`, text]))
        for (const typeScript of examples.length === 0 ? [] : typeScripts) {
          await check(`the examples compile under TypeScript ${typeScript.version} and run`, async () => {
            const out = await compile(folder, files, typeScript)
            for (const name of Object.keys(files)) {
              await runProgram(process.execPath, [join(out, name.replace('.ts', '.js'))], { cwd: folder })
            }
          })
        }
      },
    })
  })
}

function entriesOf({ name, manifest }) {
  return Object.keys(manifest.exports ?? {})
    .filter((path) => path !== './package.json')
    .map((path) => (path === '.' ? name : `${name}/${path.slice(2)}`))
}

const loadEntry = `
const { createRequire } = await import('node:module')
const [entry] = process.argv.slice(1)
const imported = await import(entry)
const required = createRequire(process.cwd() + '/x.js')(entry)
const names = Object.keys(imported).sort().join()
if (names !== Object.keys(required).sort().join()) throw new Error('import and require differ: ' + names)
`

/** Whether an entry could not be loaded because a peer that its package calls optional is not there. */
function isForPeer({ manifest }, message) {
  const optional = Object.entries(manifest.peerDependenciesMeta ?? {}).filter(([, meta]) => meta.optional)
  return optional.some(([peer]) => message.includes(`Cannot find package '${peer}'`))
}

/** Somebody who takes everything: each entry is imported and required, each program says what it is for, types hold. */
export async function checkEntriesStranger({ check, tarballs, typeScripts }) {
  await check('a stranger installs all packages', () =>
    withProject({
      tarballs,
      use: async (folder) => {
        const loaded = []
        for (const tarball of tarballs) {
          for (const entry of entriesOf(tarball)) {
            await check(`${entry} can be imported and required`, async () => {
              try {
                await runProgram(process.execPath, ['--input-type=module', '--eval', loadEntry, entry], { cwd: folder })
                loaded.push(entry)
              } catch (error) {
                if (!isForPeer(tarball, error.message)) throw error
              }
            })
          }
          for (const program of Object.keys(tarball.manifest.bin ?? {})) {
            await check(`${program} --help`, () =>
              runProgram(join(folder, 'node_modules', '.bin', program), ['--help']),
            )
          }
        }
        const text = loaded.map((entry, index) => `export * as entry${index} from '${entry}'\n`).join('')
        for (const typeScript of typeScripts) {
          await check(`all entries compile under TypeScript ${typeScript.version}`, () =>
            compile(folder, { 'entries.ts': text }, typeScript),
          )
        }
      },
    }),
  )
}
