export { createDockerDriver } from '../src/docker/index.ts'
export { createBubblewrapDriver, createLocalDriver, execAndWait, sweepOrphans } from '../src/index.ts'
