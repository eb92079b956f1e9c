import { defineConfig, mergeConfig } from 'vitest/config'
import base from '../../../vitest.config.ts'

/**
 * Proofs: tests that need more of a machine than every test run may ask for.
 * Node itself adds `import` or `require` to the conditions: with `import` for
 * everybody, the WebSocket client of the Kubernetes client would be the wrong one.
 */
export default mergeConfig(
  { ...base, ssr: { resolve: { conditions: ['@agentrl/source'] } }, test: { ...base.test, include: [] } },
  defineConfig({ test: { include: ['packages/sandbox/src/**/*.proof.ts'] } }),
)
