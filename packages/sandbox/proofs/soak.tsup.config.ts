import { defineConfig } from 'tsup'

/** The package as one file that a child process can load without a build of the workspace. */
export default defineConfig({
  entry: { sandbox: 'packages/sandbox/proofs/soak-entry.ts' },
  outDir: '.cache/sandbox-soak',
  format: 'esm',
  target: 'node20.19',
  platform: 'node',
  dts: false,
  silent: true,
  noExternal: ['@agentrl/spec'],
  external: ['dockerode', 'execa'],
  esbuildOptions(options) {
    options.conditions = ['@agentrl/source']
  },
})
