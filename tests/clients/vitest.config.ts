import { defineConfig } from 'vitest/config'

/** The system lane: real clients against the adapter. `npm run test:clients`. */
export default defineConfig({
  ssr: { resolve: { conditions: ['@agentrl/source', 'node', 'import', 'default'] } },
  resolve: { conditions: ['@agentrl/source', 'node', 'import', 'default'] },
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['tests/clients/**/*.test.ts'],
    reporters: ['default', './tests/summary-reporter.ts'],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
})
