/** `pnpm proof:kubernetes`: the kubernetes driver against a real cluster that is started for it. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findKubernetesBinaries } from './kubernetes-binaries.mjs'
import { baseImage, makeNodeNetwork, withKubernetesCluster } from './kubernetes-cluster.mjs'

const here = fileURLToPath(import.meta.url)

if (process.argv[2] === 'inside') {
  makeNodeNetwork()
  process.exitCode = await withKubernetesCluster(proveInCluster)
} else {
  findKubernetesBinaries()
  const before = countLeft()
  // In a network space of its own, which ends with it: interfaces, addresses and packet filters of the cluster are none of this machine's.
  const { status } = spawnSync('unshare', ['--net', process.execPath, here, 'inside'], { stdio: 'inherit' })
  const left = Object.entries(countLeft()).map(([what, count]) => [what, count - before[what]])
  process.stdout.write(`left: ${left.map(([what, count]) => `${count} ${what}`).join(', ')}\n`)
  process.exitCode = left.every(([, count]) => count === 0) ? (status ?? 1) : 1
}

async function proveInCluster({ kubeconfig, auditLog, get }) {
  // One file after the other: some cases say what the whole namespace holds.
  const flags = ['--no-file-parallelism', '--config', 'packages/sandbox/proofs/vitest.config.mjs']
  const cluster = {
    AGENTRL_KUBECONFIG: kubeconfig,
    AGENTRL_KUBERNETES_AUDIT_LOG: auditLog,
    AGENTRL_KUBERNETES_IMAGE: baseImage,
  }
  const run = spawn('npx', ['vitest', 'run', ...flags, 'packages/sandbox/src/kubernetes'], {
    stdio: 'inherit',
    env: { ...process.env, ...cluster },
  })
  const status = await new Promise((resolve) => run.once('exit', resolve))
  const pods = (await get('/api/v1/pods')).items.length
  const policies = (await get('/apis/networking.k8s.io/v1/networkpolicies')).items.length
  process.stdout.write(`left in the cluster: ${pods} pods, ${policies} network policies\n`)
  return pods + policies === 0 ? status : 1
}

/** What a cluster has on its machine. */
function countLeft() {
  const commands = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readIfThere(`/proc/${name}/cmdline`))
  return {
    processes: commands.filter((command) => command.includes('agentrl-kubernetes-')).length,
    mounts: readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes('agentrl-kubernetes-')).length,
    folders: readdirSync(tmpdir()).filter((name) => name.startsWith('agentrl-kubernetes-')).length,
    'control groups': readdirSync('/sys/fs/cgroup').filter((name) =>
      existsSync(join('/sys/fs/cgroup', name, 'kubepods')),
    ).length,
  }
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
