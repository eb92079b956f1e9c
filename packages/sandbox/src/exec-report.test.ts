import { expect, test } from 'vitest'
import { execEvent, failedCommand, redactEvent } from './exec-report.ts'
import { createRedactor } from './redact.ts'
import type { ExecOutcome } from './sandbox-types.ts'

const secret = 'hunter2-hunter2-hunter2'
const redact = createRedactor({ API_KEY: secret })

/** A command that failed and wrote this. */
function outcomeOf(stdout: string): ExecOutcome {
  const raw = { stdout: Buffer.from(stdout), stderr: Buffer.from(stdout) }
  const omittedBytes = { stdout: 0, stderr: 0 }
  return { kind: 'exited', exitCode: 1, stdout, stderr: stdout, raw, omittedBytes, durationMs: 1 }
}

const partsOfSecret = Array.from({ length: secret.length - 5 }, (_, start) => secret.slice(start, start + 6))

test.each([1_990, 1_995, 2_000, 2_005, 262_140, 262_150])(
  'no part of a secret is left that lies %i bytes before the end',
  (distance) => {
    const output = `${'a'.repeat(300_000)}${secret}${'b'.repeat(distance)}`
    const text = JSON.stringify(redactEvent(execEvent('run', { cwd: '/' }, outcomeOf(output)), redact))
    expect(partsOfSecret.filter((part) => text.includes(part))).toEqual([])
    expect(text).toContain('bbbbbb')
  },
)

test('nor of a long one that what is looked through begins in the middle of', () => {
  const long = Array.from({ length: 4_000 }, (_, number) => `${number}`.padStart(5, 'x')).join('')
  const event = execEvent('run', { cwd: '/' }, outcomeOf(long.repeat(20)))
  const text = JSON.stringify(redactEvent(event, createRedactor({ SSH_KEY: long })))
  expect(text.replaceAll('[redacted]', '')).not.toMatch(/x\d{4}x/)
})

test.each([480, 490, 500, 510])('nor in the error of a command, %i bytes before the end', (distance) => {
  const outcome = outcomeOf(`${'a'.repeat(1_000)}${secret}${'b'.repeat(distance)}`)
  const { message, details } = failedCommand(`${'c'.repeat(190)}${secret}`, outcome, redact)
  const text = JSON.stringify([message, details])
  expect(partsOfSecret.filter((part) => text.includes(part))).toEqual([])
})

test('a command is cut after its secrets are gone', () => {
  const event = redactEvent(execEvent(`${'c'.repeat(1_990)}${secret} more`, { cwd: '/' }, outcomeOf('')), redact)
  const text = JSON.stringify(event)
  expect(partsOfSecret.filter((part) => text.includes(part))).toEqual([])
})

test('the last 2,000 characters of an output are shown, of many-byte characters too', () => {
  const event = redactEvent(execEvent('run', { cwd: '/' }, outcomeOf('\u{1f600}'.repeat(200_000))), redact)
  expect(event).toMatchObject({ stdoutTail: '\u{1f600}'.repeat(1_000), stdoutBytes: 800_000 })
})
