export { createDockerDriver } from '../src/docker/index.ts'
export { createBubblewrapDriver, createLocalDriver, execAndWait, sweepOrphans } from '../src/index.ts'
export { conformanceCases } from '../src/testing/conformance.ts'
