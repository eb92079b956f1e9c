import { defineConfig, mergeConfig } from 'vitest/config'
import base from '../../../vitest.config.ts'

/** Proofs: tests that need more of a machine than every test run may ask for. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({ test: { include: ['packages/sandbox/src/**/*.proof.ts'] } }),
)
