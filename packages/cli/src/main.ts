import { runCli } from './run-cli.ts'

const interrupt = new AbortController()
const onSignal = (): void => {
  if (interrupt.signal.aborted) process.exit(130)
  process.stderr.write('\nInterrupted: ending what runs; what has finished is kept. Once more ends at once.\n')
  interrupt.abort(new DOMException('interrupted', 'AbortError'))
}
process.on('SIGINT', onSignal)
process.on('SIGTERM', onSignal)
// `agentrl … | head` closes the pipe: there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const exitCode = await runCli(
  process.argv.slice(2),
  { out: (text) => process.stdout.write(text), err: (text) => process.stderr.write(text) },
  interrupt.signal,
)
// What is left open (a worker, an idle connection) must not hold a finished command.
process.stdout.write('', () => process.exit(exitCode))
