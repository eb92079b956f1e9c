import { mkdirSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsup'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The package of this checkout, built into `.cache`, with what it depends on. */
export async function loadLibrary() {
  const outDir = `${root}.cache/tool-calls`
  mkdirSync(outDir, { recursive: true })
  await build({
    config: false,
    entry: { library: `${root}packages/tool-calls/src/index.ts` },
    outDir,
    format: 'esm',
    target: 'node20.19',
    outExtension: () => ({ js: '.mjs' }),
    noExternal: [/./],
    silent: true,
    esbuildOptions: (options) => {
      options.conditions = ['@agentrl/source']
    },
  })
  return import(pathToFileURL(`${outDir}/library.mjs`).href)
}
