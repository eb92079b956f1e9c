/**
 * The relay: it listens on a sandbox's own loopback and forwards every
 * connection to a Unix socket that is bound into the sandbox, so a sandbox
 * without a network reaches exactly these sockets. It runs on the Node binary
 * of the host, bound read-only.
 *
 *     node relay.cjs /run/agentrl-sockets/adapter 8000 [socket port …]     says "listening" on stdout
 */
export const relayScript: string = `const { connect, createServer } = require('node:net')
const args = process.argv.slice(process.argv.findIndex((text) => text.startsWith('/run/agentrl-sockets/')))
let waiting = args.length / 2
for (let index = 0; index < args.length; index += 2) {
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ path: args[index], allowHalfOpen: true })
    for (const [from, to] of [[inner, outer], [outer, inner]]) {
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroySoon())
    }
  })
  server.listen(Number(args[index + 1]), '127.0.0.1', () => {
    waiting -= 1
    if (waiting === 0) process.stdout.write('listening\\n')
  })
}
`

/** Where sockets of the host are inside. */
export const socketsPath = '/run/agentrl-sockets'
