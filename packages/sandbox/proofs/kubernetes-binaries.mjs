/**
 * The programs of a Kubernetes cluster, built once from their sources with Go
 * and kept in `.cache/kubernetes`. The modules of a release name their siblings
 * by folder, so a module of our own requires the release and names the tags at
 * which the siblings are published.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const kubernetesVersion = 'v1.34.4'
/** Enforces network policies on a node. */
const router = 'github.com/cloudnativelabs/kube-router/v2'
const routerVersion = 'v2.1.0'

const cache = fileURLToPath(new URL(`../../../.cache/kubernetes/${kubernetesVersion}`, import.meta.url))

/** The programs and where their sources are. */
const sources = {
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  'kube-router': `${router}/cmd/kube-router`,
}

/** Builds the programs that are missing, and gives their folder. */
export function findKubernetesBinaries() {
  const folder = join(cache, 'bin')
  const missing = Object.keys(sources).filter((program) => !existsSync(join(folder, program)))
  if (missing.length === 0) return folder
  mkdirSync(cache, { recursive: true })
  const go = (args, stdio = 'inherit') =>
    execFileSync('go', args, { cwd: cache, stdio, env: { ...process.env, CGO_ENABLED: '0' } })
  const { GoMod } = JSON.parse(go(['mod', 'download', '-json', `k8s.io/kubernetes@${kubernetesVersion}`], 'pipe'))
  const siblings = readFileSync(GoMod, 'utf8').match(/k8s\.io\/[a-z-]+(?= v0\.0\.0$)/gm)
  const siblingVersion = kubernetesVersion.replace('v1.', 'v0.')
  writeFileSync(
    join(cache, 'go.mod'),
    [
      'module agentrl.local/cluster\n\ngo 1.24.0\n\ngodebug default=go1.24\n',
      `require k8s.io/kubernetes ${kubernetesVersion}\n`,
      `require ${router} ${routerVersion}\n`,
      ...siblings.map((sibling) => `replace ${sibling} => ${sibling} ${siblingVersion}`),
      '',
    ].join('\n'),
  )
  const [major, minor] = kubernetesVersion.slice(1).split('.')
  const stamps = { gitVersion: kubernetesVersion, gitMajor: major, gitMinor: minor }
  const stampFlags = Object.entries(stamps).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  process.stdout.write(`building Kubernetes ${kubernetesVersion}: takes minutes, once\n`)
  const flags = ['-p', '2', '-trimpath', '-mod=mod', '-ldflags', `-s -w ${stampFlags.join(' ')}`]
  for (const program of missing) go(['build', ...flags, '-o', join(folder, program), sources[program]])
  return folder
}
