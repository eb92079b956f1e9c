import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const strangerProjects: { examplesOf(readme: string): string[]; findNativeFiles(folder: string): string[] } =
  await import(new URL('./stranger-projects.mjs', import.meta.url).href)
const { examplesOf, findNativeFiles } = strangerProjects

async function folderWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentrl-stranger-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}

test('machine code is found by name and by its first bytes, scripts and data are not', async () => {
  const folder = await folderWith({
    'a/addon.node': '',
    'a/binding.gyp': '',
    'a/tool': new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2]),
    'b/tool-mac': new Uint8Array([0xcf, 0xfa, 0xed, 0xfe]),
    'b/tool.exe': 'MZ',
    'b/index.js': '#!/usr/bin/env node\n',
    'b/empty': '',
    'b/nodes.json': '{}',
  })
  const found = findNativeFiles(folder).map((path) => path.slice(folder.length + 1))
  expect(found.sort()).toEqual(['a/addon.node', 'a/binding.gyp', 'a/tool', 'b/tool-mac', 'b/tool.exe'])
})

test('an example is a ts block that imports @agentrl/core and nothing else', async () => {
  const core = "import { SampleBuilder } from '@agentrl/core'\nnew SampleBuilder({})\n"
  const readme = [core, `${core}import 'x' from 'node:fs'\n`, 'const noImport = 1\n']
    .map((text) => `Text\n\n\`\`\`ts\n${text}\`\`\`\n`)
    .join('\n')
  const folder = await folderWith({ 'README.md': readme })
  expect(examplesOf(join(folder, 'README.md'))).toEqual([core])
  expect(examplesOf(join(folder, 'absent.md'))).toEqual([])
})
