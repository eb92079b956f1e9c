import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { AgentRlError, EngineError, errorCodes, excerpt, isAgentRlError } from './errors.ts'

describe('errors', () => {
  test('an error carries its code, details, cause and whether a retry may help', () => {
    const cause = new Error('socket hang up')
    const error = new EngineError('engine_unreachable', 'no engine at x', {
      cause,
      details: { url: 'x' },
      isRetryable: true,
    })
    expect(error).toMatchObject({
      name: 'EngineError',
      code: 'engine_unreachable',
      message: 'no engine at x',
      details: { url: 'x' },
      isRetryable: true,
    })
    expect(error.cause).toBe(cause)
  })

  test('an error of another copy of this package is recognised by its marker', () => {
    const foreign = Object.assign(new Error('x'), { [Symbol.for('agentrl.error')]: true, code: 'task_invalid' })
    expect(isAgentRlError(foreign)).toBe(true)
    expect(isAgentRlError(new AgentRlError('task_invalid', 'x'))).toBe(true)
    expect(isAgentRlError(new Error('x'))).toBe(false)
    expect(isAgentRlError({ [Symbol.for('agentrl.error')]: true })).toBe(false)
  })

  test('every code is snake_case, starts with its boundary and is listed once', () => {
    const listed = Object.entries(errorCodes).flatMap(([boundary, codes]) =>
      Object.keys(codes).map((code) => ({ boundary, code })),
    )
    expect(new Set(listed.map(({ code }) => code)).size).toBe(listed.length)
    expect(listed.filter(({ boundary, code }) => !code.startsWith(`${boundary}_`) || !/^[a-z_]+$/.test(code))).toEqual(
      [],
    )
  })

  test('every code stands in docs/errors.md with its meaning', () => {
    const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
    const missing = Object.values(errorCodes)
      .flatMap((codes) => Object.entries(codes))
      .filter(([code, meaning]) => !page.includes(`| \`${code}\` | ${meaning} |`))
    expect(missing).toEqual([])
  })

  test('text from outside is cut to 200 characters', () => {
    expect(excerpt('a'.repeat(200))).toBe('a'.repeat(200))
    expect(excerpt('a'.repeat(201))).toBe(`${'a'.repeat(200)}… (201 characters)`)
  })
})
