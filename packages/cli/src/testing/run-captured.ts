import { runCli } from '../run-cli.ts'

/** What a command printed, and the status that it ended with. */
export interface CapturedRun {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command line in this process and keeps what it prints. */
export async function runCaptured(...argv: readonly string[]): Promise<CapturedRun> {
  const out: string[] = []
  const err: string[] = []
  const output = { out: (text: string) => void out.push(text), err: (text: string) => void err.push(text) }
  const code = await runCli([...argv], output, new AbortController().signal)
  return { code, out: out.join(''), err: err.join('') }
}
