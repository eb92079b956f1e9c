import { describe } from 'vitest'
import { registerConformance } from '../__fixtures__/register-conformance.ts'
import { createDockerDriver } from './docker-driver.ts'

const host = process.env.AGENTRL_DOCKER_HOST
const image = process.env.AGENTRL_DOCKER_IMAGE ?? 'agentrl-busybox:1'

describe.skipIf(host === undefined)('the docker driver (needs a daemon: pnpm proof:docker starts one)', () => {
  registerConformance({ driver: createDockerDriver({ host: host ?? '', image }), boot: { egress: { kind: 'none' } } })
})
