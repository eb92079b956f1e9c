import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createConnection } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { DockerConnection } from '../docker/connect-docker.ts'

/** Forwards a connection to a daemon's socket, both ways. */
export function forward(client: Duplex, host: string): void {
  const daemon = createConnection({ path: host.replace('unix://', ''), allowHalfOpen: true })
  client.pipe(daemon).pipe(client)
  client.on('error', () => daemon.destroy())
  daemon.on('error', () => client.destroy())
}

/** A certificate for the loopback that signs itself: both ends trust it. */
export function makeCertificate(folder: string): { ca: string; cert: string; key: string } {
  mkdirSync(folder)
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', [...request, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  const text = readFileSync(cert, 'utf8')
  return { ca: text, cert: text, key: readFileSync(key, 'utf8') }
}

/** As much of the package ssh2, which dockerode brings along, as is used here. */
interface Ssh2 {
  readonly Server: new (
    options: { readonly hostKeys: readonly string[] },
    onClient: (client: NodeJS.EventEmitter) => void,
  ) => { listen(port: number, host: string, onListening: () => void): void; address(): AddressInfo; close(): void }
}

/**
 * An ssh server on the loopback that runs `docker system dial-stdio`, as sshd
 * would on the daemon's machine, and an agent that holds a key for it.
 */
export async function startSshDaemon(
  folder: string,
  host: string,
): Promise<AsyncDisposable & { readonly connection: DockerConnection }> {
  mkdirSync(folder, { mode: 0o700 })
  const requireDockerode = createRequire(createRequire(import.meta.url).resolve('dockerode'))
  const { Server } = createRequire(requireDockerode.resolve('docker-modem'))('ssh2') as Ssh2
  for (const name of ['host', 'user']) {
    const place = ['-f', join(folder, name), '-N', '', '-q']
    execFileSync('ssh-keygen', ['-t', 'rsa', '-b', '2048', '-m', 'PEM', ...place])
  }
  const agentPath = join(folder, 'agent.sock')
  const agent = spawn('ssh-agent', ['-D', '-a', agentPath], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(agent.stdout, 'data')
  execFileSync('ssh-add', ['-q', join(folder, 'user')], { env: { ...process.env, SSH_AUTH_SOCK: agentPath }, stdio: 'ignore' })
  const fingerprint = execFileSync('ssh-keygen', ['-lf', join(folder, 'host.pub')]).toString().split(' ')[1] ?? ''
  const server = new Server({ hostKeys: [readFileSync(join(folder, 'host'), 'utf8')] }, (client) => {
    client.on('error', () => {})
    client.on('authentication', (context: { method: string; accept(): void; reject(methods: string[]): void }) => {
      if (context.method === 'publickey') context.accept()
      else context.reject(['publickey'])
    })
    client.on('session', (accept: () => NodeJS.EventEmitter) => {
      accept().on('exec', (acceptExec: () => Duplex, _reject: unknown, { command }: { command: string }) => {
        const [program = '', ...args] = command.split(' ')
        const child = spawn(program, args, { env: { ...process.env, DOCKER_HOST: host }, stdio: ['pipe', 'pipe', 'ignore'] })
        const channel = acceptExec()
        channel.pipe(child.stdin)
        child.stdout.pipe(channel)
        child.stdin.on('error', () => {})
        channel.on('error', () => child.kill())
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `ssh://daemon@127.0.0.1:${server.address().port}`
  return {
    connection: { host: address, sshAgent: agentPath, sshHostKey: fingerprint },
    async [Symbol.asyncDispose]() {
      server.close()
      agent.kill()
      await once(agent, 'exit')
    },
  }
}
