/**
 * A Kubernetes cluster of one node for proofs: etcd, API server, controller
 * manager, scheduler, kube-router for network policies, and kubelet over
 * containerd, in a folder that is removed afterwards and in the network space of
 * its caller. Pods get one of their own (CNI plugin `ptp`). Needs root. Nothing
 * is pulled.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { writeImageArchive } from './busybox-image.mjs'
import { findKubernetesBinaries } from './kubernetes-binaries.mjs'

export const baseImage = 'docker.io/library/agentrl-busybox:1'
const pauseImage = 'docker.io/library/agentrl-pause:1'
const token = 'proof'
const nodeAddress = '10.249.0.1'

/** Gives the network space of this process what a node has: a loopback, an address and a way out that leads nowhere. */
export function makeNodeNetwork() {
  for (const command of [
    'link set lo up',
    'link add node0 type bridge',
    `address add ${nodeAddress}/24 dev node0`,
    'link set node0 up',
    'route add default dev node0',
  ]) {
    execFileSync('ip', command.split(' '))
  }
}

/** Starts a cluster, runs `work` with its kubeconfig, its audit log and a way to ask it, ends it, and removes everything. */
export async function withKubernetesCluster(work) {
  for (const [path, debianPackage] of [
    ['/usr/bin/etcd', 'etcd-server'],
    ['/usr/bin/containerd', 'containerd'],
    ['/usr/sbin/runc', 'runc'],
    ['/usr/lib/cni/ptp', 'containernetworking-plugins'],
    ['/bin/busybox', 'busybox-static'],
    ['/usr/sbin/ipset', 'ipset'],
  ]) {
    if (!existsSync(path)) throw new Error(`${path} is not there: apt-get install ${debianPackage}`)
  }
  const binaries = findKubernetesBinaries()
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-kubernetes-'))
  const running = []
  const start = (program, args) => {
    const name = program.split('/').at(-1)
    const log = openSync(join(folder, `${name}.log`), 'w')
    const child = spawn(program, args, { stdio: ['ignore', log, log], detached: true })
    const state = { name, child, isOver: false, over: undefined }
    state.over = new Promise((resolve) => {
      const end = () => {
        state.isOver = true
        resolve()
      }
      child.once('exit', end)
      child.once('error', end)
    })
    running.push(state)
  }
  const cluster = { folder, binaries, start, running, ports: await freePorts(8) }
  try {
    const get = await startCluster(cluster)
    return await work({ kubeconfig: join(folder, 'kubeconfig'), auditLog: join(folder, 'audit.log'), get })
  } finally {
    await endCluster(cluster)
  }
}

async function startCluster({ folder, binaries, start, running, ports }) {
  const [etcdPort, etcdPeerPort, apiPort, controllerPort, schedulerPort, kubeletPort, healthPort, policyPort] = ports
  const server = `https://127.0.0.1:${apiPort}`
  const until = (what, look) => waitFor(what, look, running, folder)

  writeFileSync(join(folder, 'containerd.toml'), containerdConfig(folder))
  mkdirSync(join(folder, 'cni'))
  writeFileSync(join(folder, 'cni/10-pods.conflist'), JSON.stringify(podNetwork(folder)))
  start('/usr/bin/containerd', ['--config', join(folder, 'containerd.toml')])
  const socket = join(folder, 'containerd.sock')
  const ctr = (...args) => execFileSync('ctr', ['-a', socket, '-n', 'k8s.io', ...args], { stdio: 'pipe' })
  await until('containerd', () => ctr('version'))
  const sleep = ['/bin/busybox', 'sleep', '1000000000']
  ctr('images', 'import', writeImageArchive(folder, { [baseImage]: ['/bin/sh'], [pauseImage]: sleep }))

  start('/usr/bin/etcd', [
    ...['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync'],
    ...['--listen-client-urls', `http://127.0.0.1:${etcdPort}`],
    ...['--advertise-client-urls', `http://127.0.0.1:${etcdPort}`],
    ...['--listen-peer-urls', `http://127.0.0.1:${etcdPeerPort}`],
    ...['--initial-advertise-peer-urls', `http://127.0.0.1:${etcdPeerPort}`],
    ...['--initial-cluster', `default=http://127.0.0.1:${etcdPeerPort}`],
  ])
  writeFileSync(join(folder, 'tokens.csv'), `${token},admin,admin,system:masters\n`)
  const key = join(folder, 'service-account.key')
  execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'ignore' })
  const auditPolicy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }
  writeFileSync(join(folder, 'audit-policy.json'), JSON.stringify(auditPolicy))
  start(join(binaries, 'kube-apiserver'), [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${apiPort}`,
    `--cert-dir=${join(folder, 'api-certificates')}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC,Node',
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.251.0.0/24',
    '--service-account-issuer=https://agentrl.local',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    '--kubelet-preferred-address-types=Hostname',
    `--audit-policy-file=${join(folder, 'audit-policy.json')}`,
    `--audit-log-path=${join(folder, 'audit.log')}`,
  ])
  const authority = join(folder, 'api-certificates/apiserver.crt')
  await until('kube-apiserver', () => existsSync(authority))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(server, readFileSync(authority))))
  const get = (path) => fetchJson(server, path, readFileSync(authority))
  await until('kube-apiserver', async () => (await get('/readyz')) === 'ok')

  start(join(binaries, 'kube-controller-manager'), [
    `--kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${controllerPort}`,
    `--service-account-private-key-file=${key}`,
    '--leader-elect=false',
  ])
  start(join(binaries, 'kube-scheduler'), [
    `--kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${schedulerPort}`,
    '--leader-elect=false',
  ])
  writeFileSync(join(folder, 'kubelet.json'), JSON.stringify(kubeletConfig(socket, kubeletPort, healthPort)))
  start(join(binaries, 'kubelet'), [
    `--config=${join(folder, 'kubelet.json')}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--cert-dir=${join(folder, 'kubelet-certificates')}`,
    '--hostname-override=localhost',
    `--node-ip=${nodeAddress}`,
  ])
  await until('the node', async () => {
    const node = await get('/api/v1/nodes/localhost')
    const isReady = node.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
    return isReady && (node.spec.taints ?? []).length === 0
  })
  start(join(binaries, 'kube-router'), [
    `--kubeconfig=${kubeconfig}`,
    '--hostname-override=localhost',
    ...['--run-router=false', '--run-service-proxy=false', '--run-firewall=true', '--run-loadbalancer=false'],
    '--service-cluster-ip-range=10.251.0.0/24',
    ...['--metrics-port=0', `--health-port=${policyPort}`, '--v=1'],
  ])
  await until('the service account', () => get('/api/v1/namespaces/default/serviceaccounts/default'))
  return get
}

function containerdConfig(folder) {
  return `version = 2
root = "${folder}/containerd"
state = "${folder}/containerd-state"
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${folder}/cni"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
`
}

function podNetwork(folder) {
  const ipam = {
    type: 'host-local',
    subnet: '10.250.0.0/24',
    dataDir: join(folder, 'addresses'),
    routes: [{ dst: '0.0.0.0/0' }],
  }
  return { cniVersion: '0.4.0', name: 'pods', plugins: [{ type: 'ptp', ipMasq: false, ipam }] }
}

function kubeconfigOf(server, authority) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proof',
    contexts: [{ name: 'proof', context: { cluster: 'proof', user: 'proof' } }],
    clusters: [
      { name: 'proof', cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } },
    ],
    users: [{ name: 'proof', user: { token } }],
  }
}

function kubeletConfig(socket, port, healthPort) {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: '127.0.0.1',
    port,
    healthzPort: healthPort,
    healthzBindAddress: '127.0.0.1',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    enforceNodeAllocatable: [],
    // The disk of this machine may be fuller than a node's.
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    resolvConf: '',
    maxPods: 250,
  }
}

/** Asks the API server with the certificate that it made for itself. */
function fetchJson(server, path, authority) {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${server}${path}`,
      { ca: authority, headers: { authorization: `Bearer ${token}` } },
      async (response) => {
        const parts = []
        for await (const part of response) parts.push(part)
        const text = Buffer.concat(parts).toString()
        if (response.statusCode !== 200) reject(new Error(`${response.statusCode}: ${text}`))
        else resolve(text.startsWith('{') ? JSON.parse(text) : text)
      },
    )
    asked.once('error', reject)
    asked.end()
  })
}

async function waitFor(what, look, running, folder) {
  let last
  for (let looks = 0; looks < 600; looks += 1) {
    const dead = running.find(({ isOver }) => isOver)
    if (dead !== undefined) throw new Error(`${dead.name} has ended:\n${logTail(folder, dead.name)}`)
    try {
      if ((await look()) !== false) return
    } catch (error) {
      last = error
    }
    await delay(100)
  }
  throw new Error(
    `${what} is not there after a minute: ${last}\n${running.map(({ name }) => `${name}:\n${logTail(folder, name)}`).join('\n')}`,
  )
}

function logTail(folder, name) {
  return readFileSync(join(folder, `${name}.log`), 'utf8').slice(-2_000)
}

async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => server.address().port)
  for (const server of servers) server.close()
  return ports
}

/** Ends the programs, the last first, then the containers that outlive containerd, mounts, control groups and the folder. */
async function endCluster({ folder, running }) {
  for (const state of running.reverse()) {
    if (state.name === 'containerd' && !state.isOver) removeContainers(folder)
    state.child.kill('SIGTERM')
    await Promise.race([state.over, delay(15_000).then(() => state.child.kill('SIGKILL'))])
    await state.over
  }
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1])
    .filter((path) => path?.startsWith(folder))
  for (const mount of mounts.reverse()) execFileSync('umount', ['-l', mount])
  for (const controller of readdirSync('/sys/fs/cgroup'))
    removeControlGroup(join('/sys/fs/cgroup', controller, 'kubepods'))
  rmSync(folder, { recursive: true, force: true })
}

/** What a failed proof left: the tasks of a pod go together, so one may be gone when its turn comes. */
function removeContainers(folder) {
  const ctr = (...args) =>
    spawnSync('ctr', ['-a', join(folder, 'containerd.sock'), '-n', 'k8s.io', 'tasks', ...args]).stdout.toString()
  for (let rounds = 0; rounds < 10; rounds += 1) {
    const ids = ctr('ls', '-q').split('\n').filter(Boolean)
    if (ids.length === 0) return
    for (const id of ids) ctr('rm', '-f', id)
  }
}

function removeControlGroup(path) {
  if (!existsSync(path)) return
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeControlGroup(join(path, entry.name))
  }
  rmdirSync(path)
}
