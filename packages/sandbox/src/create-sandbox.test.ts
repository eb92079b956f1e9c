import { sandboxId, silentLogger } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { resolveBootOptions } from './boot-options.ts'
import { createSandbox } from './create-sandbox.ts'
import type { FileBackend, SandboxBackend } from './sandbox-backend.ts'
import type { SandboxCapabilities } from './sandbox-types.ts'

const capabilities: SandboxCapabilities = {
  hasOwnRoot: true,
  holdsEscapees: true,
  canSwitchUser: true,
  hasImages: false,
  hasResources: false,
  hasMounts: false,
  maxLifetimeMs: 86_400_000,
  egress: ['open'],
}

const noFiles = {} as FileBackend

/** A sandbox over a backend that runs nothing, and a list of what the backend was asked to end. */
function sandboxOver(parts: Partial<SandboxBackend>, disposeTimeoutMs = 5_000) {
  const ended: string[] = []
  const backend: SandboxBackend = {
    id: sandboxId('fake-1'),
    driver: 'fake',
    capabilities,
    options: resolveBootOptions(
      { labels: { run: 'r', attempt: '1' }, egress: { kind: 'open' } },
      { name: 'fake', capabilities },
    ),
    home: '/root',
    env: {},
    commandPath: (path) => path,
    start: () => new Promise(() => {}),
    files: noFiles,
    end: async () => void ended.push('backend'),
    ...parts,
  }
  const trace = { write: async () => {} }
  const clock = { now: () => 0 }
  return { ended, sandbox: createSandbox(backend, { trace, clock, logger: silentLogger, disposeTimeoutMs }) }
}

test('a file call that hangs does not keep the sandbox from being ended', async () => {
  const files: FileBackend = { ...noFiles, readFile: () => new Promise(() => {}) }
  const { sandbox, ended } = sandboxOver({ files }, 40)
  sandbox.readFile('/x').catch(() => {})
  await sandbox[Symbol.asyncDispose]()
  expect(ended).toEqual(['backend'])
})

test('a backend that does not end in time is a loud failure', async () => {
  const { sandbox } = sandboxOver({ end: () => new Promise(() => {}) }, 20)
  await expect(sandbox[Symbol.asyncDispose]()).rejects.toMatchObject({ code: 'sandbox_survivors' })
})

test('a backend that can not end everything says so on every disposal, and is asked once', async () => {
  let asked = 0
  const { sandbox } = sandboxOver({
    end: async () => {
      asked += 1
      throw new Error('process 7 is left')
    },
  })
  await expect(sandbox[Symbol.asyncDispose]()).rejects.toThrow('process 7')
  await expect(sandbox[Symbol.asyncDispose]()).rejects.toThrow('process 7')
  expect(asked).toBe(1)
})

test('a file call ends with the sandbox', async () => {
  const files: FileBackend = {
    ...noFiles,
    readFile: (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('ended')))
      }),
  }
  const { sandbox } = sandboxOver({ files })
  const reading = sandbox.readFile('/x')
  await Promise.all([expect(reading).rejects.toMatchObject({ code: 'sandbox_lost' }), sandbox[Symbol.asyncDispose]()])
})
