/**
 * The relay: it listens on the sandbox's own loopback and forwards every
 * connection to a Unix socket that is bound into the sandbox, so a sandbox
 * without a network reaches exactly one thing. It runs inside, on the Node
 * binary of the host, bound read-only.
 *
 *     node relay.cjs /run/agentrl-sockets/adapter 8000     says "listening" on stdout
 */
export const relayScript: string = `const { connect, createServer } = require('node:net')
const [socketPath, port] = process.argv.slice(-2)
const server = createServer({ allowHalfOpen: true }, (inner) => {
  const outer = connect({ path: socketPath, allowHalfOpen: true })
  for (const [from, to] of [[inner, outer], [outer, inner]]) {
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroySoon())
  }
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\\n'))
`
