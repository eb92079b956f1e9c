import fc from 'fast-check'

/**
 * Every property test of a run shares one seed and one run count, printed by
 * the summary reporter: `AGENTRL_PROPERTY_SEED=… AGENTRL_PROPERTY_RUNS=10000`
 * repeats or deepens a run.
 */
fc.configureGlobal({
  numRuns: Number(process.env.AGENTRL_PROPERTY_RUNS ?? 200),
  seed: Number(process.env.AGENTRL_PROPERTY_SEED ?? 20261129),
})
