import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { cleanEnvironment } from './clean-environment.mjs'

const execute = promisify(execFile)

/** Runs a program; gives its standard output. Throws an Error whose message ends with what it printed. */
export async function runProgram(program, args, { cwd, env = {} } = {}) {
  try {
    const options = { cwd, env: { ...cleanEnvironment(process.env), ...env }, maxBuffer: 64 * 1024 * 1024 }
    return (await execute(program, args, options)).stdout
  } catch (error) {
    const printed = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim().slice(-4000)
    throw new Error(`${program} ${args.join(' ')} (exit code ${error.code})\n${printed}`, { cause: error })
  }
}

/** A list of checks that go on after one fails, and end with their counts in `AGENTRL_COUNTS_FILE`. */
export function createChecks() {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  return {
    /** Runs one check; gives its value, or null where it failed. */
    async check(name, action) {
      const started = Date.now()
      try {
        const value = await action()
        counts.passed += 1
        console.log(`✓ ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`)
        return value ?? true
      } catch (error) {
        counts.failed += 1
        console.error(`✗ ${name}\n${error.message.replace(/^/gm, '    ')}`)
        return null
      }
    },
    finish() {
      if (process.env.AGENTRL_COUNTS_FILE) writeFileSync(process.env.AGENTRL_COUNTS_FILE, JSON.stringify(counts))
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
      process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1
    },
  }
}
