import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { normalizeSandboxPath, rewritePaths } from './sandbox-path.ts'

describe('normalizeSandboxPath', () => {
  test.each([
    ['/app/x', '/app/x'],
    ['x/./y//z/', '/app/x/y/z'],
    ['../tests', '/tests'],
    ['/', '/'],
    ['', '/app'],
    ['/a/../b', '/b'],
  ])('%j is %j', (path, normal) => {
    expect(normalizeSandboxPath(path, '/app')).toBe(normal)
  })

  test.each(['../../x', '/..', '/a/../../b', 'x\0y'])('%j is refused', (path) => {
    expect(() => normalizeSandboxPath(path, '/app')).toThrow(expect.objectContaining({ code: 'sandbox_path_outside' }))
  })

  test('a normal path stays as it is', () => {
    const segment = fc.constantFrom('a', '..', '.', '', 'b c', '...')
    fc.assert(
      fc.property(fc.array(segment), (segments) => {
        const path = `/deep/er/${'x/'.repeat(segments.length)}${segments.join('/')}`
        const normal = normalizeSandboxPath(path, '/app')
        expect(normalizeSandboxPath(normal, '/elsewhere')).toBe(normal)
        expect(normal.split('/').filter((part) => part === '..' || part === '.')).toEqual([])
      }),
    )
  })
})

describe('rewritePaths', () => {
  const sandbox = { path: (path: string) => `/root-of-it${path}` }
  const folders = ['/app', '/tests', '/logs']

  test.each([
    ['bash /tests/test.sh', 'bash /root-of-it/tests/test.sh'],
    ['echo 1 > /logs/verifier/reward.txt', 'echo 1 > /root-of-it/logs/verifier/reward.txt'],
    ['cd "/app"; ls /app', 'cd "/root-of-it/app"; ls /root-of-it/app'],
    ['A=/app:/logs', 'A=/root-of-it/app:/root-of-it/logs'],
    ['/srv/app /application /app-2 ./app ~/app', '/srv/app /application /app-2 ./app ~/app'],
    ['$ROOT/app $\u007bROOT}/tests', '$ROOT/app $\u007bROOT}/tests'],
  ])('%j becomes %j', (text, rewritten) => {
    expect(rewritePaths(text, sandbox, folders)).toBe(rewritten)
  })

  test('no folder changes nothing', () => {
    expect(rewritePaths('a /b c', sandbox, [])).toBe('a /b c')
  })
})
