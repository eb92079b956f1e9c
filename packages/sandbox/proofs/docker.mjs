/** `pnpm proof:docker`: the docker driver against a real daemon that is started for it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { baseImage, withDockerDaemon } from './docker-daemon.mjs'

process.exitCode = await withDockerDaemon((host) => {
  const run = spawnSync(
    'npx',
    ['vitest', 'run', '--config', 'packages/sandbox/proofs/vitest.config.mjs', 'packages/sandbox/src/docker'],
    {
      stdio: 'inherit',
      env: { ...process.env, AGENTRL_DOCKER_HOST: host, AGENTRL_DOCKER_IMAGE: baseImage },
    },
  )
  const left = execFileSync('docker', ['-H', host, 'ps', '-aq']).toString().split('\n').length - 1
  process.stdout.write(`${left} containers left\n`)
  return left === 0 ? (run.status ?? 1) : 1
})
