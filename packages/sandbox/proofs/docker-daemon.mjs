/**
 * A Docker daemon of our own for proofs: started by hand from Debian's
 * `docker.io`, in a folder that is removed afterwards, with a base image made
 * of `busybox-static`. Needs root. Nothing is pulled: there may be no network.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeBusyboxRoot } from './busybox-image.mjs'

export const baseImage = 'agentrl-busybox:1'

/** Starts a daemon with the base image, runs `work` with its address, stops it, and removes everything. */
export async function withDockerDaemon(work) {
  for (const [program, debianPackage] of [
    ['dockerd', 'docker.io'],
    ['busybox', 'busybox-static'],
  ]) {
    if (!isOnPath(program)) throw new Error(`${program} is not installed: apt-get install ${debianPackage}`)
  }
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-dockerd-'))
  const socket = join(folder, 'docker.sock')
  const log = openSync(join(folder, 'dockerd.log'), 'w')
  const daemon = spawn(
    'dockerd',
    [
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
      ...['--iptables=false', '--bridge=none', '-H', `unix://${socket}`],
    ],
    { stdio: ['ignore', log, log], detached: true },
  )
  const over = new Promise((resolve) => daemon.once('exit', resolve))
  try {
    await waitForDaemon(socket, folder, over)
    importBaseImage(folder, `unix://${socket}`)
    return await work(`unix://${socket}`)
  } finally {
    daemon.kill('SIGTERM')
    await Promise.race([over, delay(20_000).then(() => daemon.kill('SIGKILL'))])
    await over
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1])
      .filter((path) => path?.startsWith(folder))
    for (const mount of mounts.reverse()) execFileSync('umount', [mount])
    rmSync(folder, { recursive: true, force: true })
  }
}

function isOnPath(program) {
  return (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, program)))
}

async function waitForDaemon(socket, folder, over) {
  let isOver = false
  over.then(() => {
    isOver = true
  })
  for (let looks = 0; looks < 300 && !isOver; looks += 1) {
    if (existsSync(socket) && canTalk(socket)) return
    await delay(100)
  }
  throw new Error(`dockerd did not start:\n${readFileSync(join(folder, 'dockerd.log'), 'utf8').slice(-2_000)}`)
}

function canTalk(socket) {
  try {
    execFileSync('docker', ['-H', `unix://${socket}`, 'version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function importBaseImage(folder, host) {
  const root = join(folder, 'base')
  makeBusyboxRoot(root)
  execFileSync('sh', ['-c', 'tar -C "$1" -c . | docker -H "$2" import - "$3"', 'sh', root, host, baseImage])
}
