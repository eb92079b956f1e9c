import { execFileSync } from 'node:child_process'

/** Whether `bwrap` can be run here. A machine of a user may have none, and then tests say so; where CI=true, they fail. */
export function lacksBubblewrap(): boolean {
  if (process.env.CI === 'true') return false
  try {
    execFileSync('bwrap', ['--version'])
    return false
  } catch {
    return true
  }
}
