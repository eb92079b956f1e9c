import { createLocalDriver, type Sandbox } from '@agentrl/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findHarness } from './find-harness.ts'
import { runTool } from './mini-tools.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await createLocalDriver().boot({ labels: { run: 'r', attempt: 'a' }, egress: { kind: 'open' } })
})
afterAll(() => sandbox[Symbol.asyncDispose]())

const bash = (fields: object) => runTool(sandbox, { name: 'bash', arguments: JSON.stringify(fields) }, {})

describe('the bash tool of the embedded agent', () => {
  test('gives output, errors and the exit code', async () => {
    expect(await bash({ command: 'echo out; echo err >&2; exit 3' })).toBe('out\n\nerr\n[exit code 3]')
    expect(await bash({ command: 'true' })).toBe('[exit code 0]')
  })

  test('runs bash, and each command starts in the project folder', async () => {
    await bash({ command: 'cd /; export LOST=1' })
    expect(await bash({ command: '[[ $PWD == */app && -z $LOST ]] && echo yes' })).toBe('yes\n[exit code 0]')
  })

  test('ends a command at its time limit and says so', async () => {
    expect(await bash({ command: 'echo begun; sleep 60', timeout_seconds: 1 })).toBe('begun\n\n[ended after 1 s]')
  })

  test('keeps both ends of a long output', async () => {
    const result = await bash({ command: 'seq 1 20000' })
    expect(result.length).toBeLessThan(17_000)
    expect(result).toMatch(/^1\n2\n[\s\S]*\[\d+ characters left out\][\s\S]*20000\n\[exit code 0\]$/)
  })

  test.each([
    ['{"command": ', 'The arguments are not valid JSON.'],
    ['{}', 'bash needs "command", a string.'],
    ['[]', 'bash needs "command", a string.'],
    ['{"command": "ls", "timeout_seconds": 0}', 'timeout_seconds is a number from 1 to 600.'],
    ['{"command": "ls", "timeout_seconds": "9"}', 'timeout_seconds is a number from 1 to 600.'],
  ])('answers the arguments %s in words', async (text, answer) => {
    expect(await runTool(sandbox, { name: 'bash', arguments: text }, {})).toBe(answer)
  })

  test('answers a tool that does not exist in words', async () => {
    expect(await runTool(sandbox, { name: 'python', arguments: '{}' }, {})).toBe(
      'There is no tool "python"; the only tool is bash.',
    )
  })
})

test.each(['', 'constructor', 'Mini'])('there is no agent %j, and the error names those that exist', (name) => {
  expect(() => findHarness(name)).toThrow(
    expect.objectContaining({ code: 'harness_unknown', message: expect.stringContaining('mini, claude_code') }),
  )
})
