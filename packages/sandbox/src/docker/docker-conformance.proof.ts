import { describe } from 'vitest'
import { registerConformance } from '../__fixtures__/register-conformance.ts'
import { createDockerDriver } from './docker-driver.ts'

// Run by `pnpm proof:docker`, which starts the daemon.
const host = process.env.AGENTRL_DOCKER_HOST ?? ''
const image = process.env.AGENTRL_DOCKER_IMAGE ?? ''

describe('the docker driver', () => {
  registerConformance({ driver: createDockerDriver({ host, image }), boot: { egress: { kind: 'none' } } })
})
