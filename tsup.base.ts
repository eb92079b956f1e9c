import { defineConfig, type Options } from 'tsup'

/**
 * The one way a package of this repository is built: ESM for Node 20.19 and
 * later, one declaration file per entry, no source of another package inlined.
 * `AGENTRL_BUILD_TYPES=0` leaves the declarations out, which are most of the time.
 */
export function libraryBuild(entry: Record<string, string>, overrides: Options = {}): ReturnType<typeof defineConfig> {
  return defineConfig({
    entry,
    format: 'esm',
    target: 'node20.19',
    platform: 'node',
    clean: true,
    dts: process.env.AGENTRL_BUILD_TYPES !== '0',
    splitting: true,
    sourcemap: true,
    treeshake: true,
    ...overrides,
  })
}
