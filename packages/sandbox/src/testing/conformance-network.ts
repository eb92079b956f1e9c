import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { EgressPolicy } from '../sandbox-types.ts'
import {
  type ConformanceCase,
  type ConformanceSetup,
  ending,
  labels,
  plainCase,
  withHostFolder,
} from './conformance-case.ts'

const needs =
  (kind: EgressPolicy['kind']) =>
  ({ driver }: ConformanceSetup): string | undefined =>
    driver.capabilities.egress.includes(kind) ? undefined : `the driver does not enforce the egress policy "${kind}"`

/** Prints the body at host $1, port $2, path $3, with whatever client the sandbox has; by the proxy where there is one. */
const fetchScript = `if [ -n "$HTTP_PROXY" ] && [ "$4" = proxied ]; then
  address=\${HTTP_PROXY#http://}
  set -- "\${address%:*}" "\${address##*:}" "http://$1:$2$3"
fi
if command -v bash > /dev/null; then
  reply=$(bash -c 'exec 3<>"/dev/tcp/$1/$2" && printf "GET %s HTTP/1.0\\r\\n\\r\\n" "$3" >&3 && cat <&3' bash "$@")
else
  # A client that closes its half of the connection has given up, for many a server.
  reply=$({ printf 'GET %s HTTP/1.0\\r\\n\\r\\n' "$3"; sleep 1; } | nc -w 5 "$1" "$2")
fi || exit 1
case $reply in *" 200 "*) printf %s "$reply" | sed '1,/^.$/d' ;; *) exit 1 ;; esac`

async function withServer<T>(listen: (server: Server) => void, work: (server: Server) => Promise<T>): Promise<T> {
  const server = createServer((request, response) => response.end(`pong ${request.url}`))
  listen(server)
  await once(server, 'listening')
  try {
    return await work(server)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function fetchInside(setup: ConformanceSetup, egress: EgressPolicy, urls: readonly URL[]): Promise<string[]> {
  const proxied = egress.kind === 'hosts' ? 'proxied' : 'direct'
  const sandbox = await setup.driver.boot({ ...setup.boot, labels, egress })
  try {
    const outcomes = await Promise.all(
      urls.map(({ hostname, port, pathname }) =>
        sandbox.exec(['/bin/sh', '-c', fetchScript, 'sh', hostname, port, pathname, proxied], { timeoutMs: 20_000 }),
      ),
    )
    return outcomes.map((outcome) => (ending(outcome) === 'exited 0' ? outcome.stdout.trim() : 'unreachable'))
  } finally {
    await sandbox[Symbol.asyncDispose]()
  }
}

/** A server on the host's loopback, and its URL. */
function withHostPort<T>(work: (url: URL) => Promise<T>): Promise<T> {
  return withServer(
    (server) => server.listen(0, '127.0.0.1'),
    (server) => work(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)),
  )
}

/** What can be reached, policy by policy. */
export const networkCases: readonly ConformanceCase[] = [
  plainCase(
    'with the egress policy "none" the loopback of the host is not reached',
    (setup) =>
      withHostPort(async (url) => {
        assert.deepEqual(await fetchInside(setup, { kind: 'none' }, [url]), ['unreachable'])
      }),
    needs('none'),
  ),
  plainCase(
    'with the egress policy "adapter" the adapter is reached on the own loopback, and nothing else',
    (setup) =>
      withHostPort((url) =>
        withHostFolder((folder) => {
          const socketPath = join(folder, 'adapter.sock')
          return withServer(
            (server) => server.listen(socketPath),
            async () => {
              const egress: EgressPolicy = { kind: 'adapter', adapter: { socketPath, port: 8_123 } }
              const found = await fetchInside(setup, egress, [new URL('http://127.0.0.1:8123/x'), url])
              assert.deepEqual(found, ['pong /x', 'unreachable'])
            },
          )
        }),
      ),
    needs('adapter'),
  ),
  plainCase(
    'with the egress policy "hosts" a listed host is reached, and another is not',
    (setup) =>
      withHostPort((listed) =>
        withHostPort(async (other) => {
          const egress: EgressPolicy = { kind: 'hosts', hosts: ['example.org', listed.host] }
          assert.deepEqual(await fetchInside(setup, egress, [listed, other]), ['pong /', 'unreachable'])
        }),
      ),
    needs('hosts'),
  ),
]
